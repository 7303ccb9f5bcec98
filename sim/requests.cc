#include "sim/requests.h"

namespace mqlab::sim {

Requests::Requests(const Generator* generator, std::uint64_t seed, std::uint32_t first, std::uint32_t stride)
    : generator_(generator), seed_(seed), count_(generator->count()), first_(first), stride_(stride) {
  index_ = 0;
  load();
  while (active() && index_ % stride_ != first_) step();
}

void Requests::advance() {
  step();
  while (active() && index_ % stride_ != first_) step();
}

void Requests::step() {
  ++index_;
  load();
}

void Requests::load() {
  if (active()) current_ = generator_->at(seed_, index_, current_);
}

Message Requests::message() const {
  Message m;
  m.id = current_.id;
  m.key = current_.key;
  m.size = current_.size;
  m.digest = current_.digest;
  m.timestamp = intended();
  return m;
}

}  // namespace mqlab::sim
