// What a stream keeps: sizes as the server's stores count them, limits, age.
//
// All figures were measured on nats-server 2.15.1, byte by byte.
#include <algorithm>

#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/stream.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
/// A timer looks for messages that are too old, never twice within this. [nats-server: filestore.go
/// resetAgeChk]
constexpr Duration between_age_checks = Duration::millis(250);
}  // namespace

/// In a file 22 bytes before and 8 of checksum behind the subject, the header with its length and the value;
/// in memory 16 for sequence and time. [nats-server: filestore.go fileStoreMsgSize, memstore.go
/// memStoreMsgSize]
std::int64_t Stream::stored_bytes(const Record& record) const {
  const std::int64_t header = header_bytes(record);
  const std::int64_t all = values_.forms[record.form].bytes(record.key) + header + record.size;
  return values_.in_memory ? all + 16 : all + 22 + 8 + (header > 0 ? 4 : 0);
}

std::int64_t Stream::file_bytes(std::int64_t first, std::int64_t last) const {
  std::int64_t bytes = 0;
  for (std::int64_t s = first + 1; s <= last; ++s) bytes += stored_bytes(log_[s]);
  return bytes;
}

/// Equal for messages of one subject.
std::uint32_t Stream::subject_number(const Record& record) const {
  const std::uint32_t key = values_.forms[record.form].keys > 0 ? record.key : 0;
  return key * static_cast<std::uint32_t>(values_.forms.size()) + record.form;
}

Stream::Tally& Stream::tally(const Record& record) {
  const std::uint32_t number = subject_number(record);
  if (number >= tallies_.size()) tallies_.resize(std::max<std::size_t>(16, number * std::size_t{2}));
  return tallies_[number];
}

void Stream::count_in(std::int64_t sequence) {
  bytes_ += stored_bytes(log_[sequence]);
  ++count_;
  watch_age(log_[sequence].stored);
  if (values_.max_msgs_per_subject <= 0) return;
  Tally& t = tally(log_[sequence]);
  if (t.count++ == 0) t.oldest = sequence;
}

void Stream::count_out(std::int64_t sequence) {
  bytes_ -= stored_bytes(log_[sequence]);
  --count_;
  if (values_.max_msgs_per_subject > 0) --tally(log_[sequence]).count;
}

/// discard = "new": what would not fit is refused, at a cluster's leader together with what is under way. A
/// message that takes another one's place under max_msgs_per_subject is not held against max_msgs.
/// [nats-server: filestore.go storeRawMsg; jetstream_cluster.go processClusteredInboundMsg]
bool Stream::full(const Record& record) const {
  if (!values_.discard_new) return false;
  std::int64_t count = count_, bytes = bytes_;
  std::int64_t alike = 0;
  const std::uint32_t subject = subject_number(record);
  if (values_.max_msgs_per_subject > 0 && subject < tallies_.size()) alike = tallies_[subject].count;
  for (std::int64_t s = last_ + 1; s <= log_.last(); ++s) {
    ++count;
    bytes += stored_bytes(log_[s]);
    alike += subject_number(log_[s]) == subject ? 1 : 0;
  }
  const bool replaces = values_.max_msgs_per_subject > 0 && alike >= values_.max_msgs_per_subject;
  if (replaces && values_.discard_new_per_subject) return true;
  return (values_.max_msgs > 0 && count >= values_.max_msgs && !replaces) ||
         (values_.max_bytes > 0 && bytes + stored_bytes(record) > values_.max_bytes && !replaces);
}

/// The oldest go, of the new one's subject first. [nats-server: filestore.go enforceMsgPerSubjectLimit,
/// enforceMsgLimit, enforceBytesLimit]
void Stream::measure() {
  World& world = cluster_.world();
  if (!world.setup().watch_disk || measured_ == bytes_) return;
  measured_ = bytes_;
  Row& row = world.row(world.setup().topology.lab, Kind::usage, Phase::ok);
  row.place = values_.place;
  row.aux = bytes_;
}

void Stream::keep_limits(std::int64_t newest) {
  if (values_.max_msgs_per_subject > 0) {
    while (tally(log_[newest]).count > values_.max_msgs_per_subject) drop_oldest_of(log_[newest]);
  }
  while (values_.max_msgs > 0 && count_ > values_.max_msgs) remove(first_);
  while (values_.max_bytes > 0 && bytes_ > values_.max_bytes && first_ <= last_) remove(first_);
}

void Stream::drop_oldest_of(const Record& record) {
  Tally& t = tally(record);
  const std::uint32_t subject = subject_number(record);
  std::int64_t s = at_or_after(t.oldest);
  while (subject_number(log_[s]) != subject) s = at_or_after(s + 1);
  t.oldest = s + 1;
  remove(s);
}

void Stream::watch_age(Instant stored) {
  if (values_.max_age.ns > 0 && age_check_ == Instant::never()) age_check_ = stored + values_.max_age;
}

/// The checks that were due by now, each at its time. In a file a message must be older than max_age by the
/// clock that the check began with, so that the first check finds the first message too young.
void Stream::expire() {
  const Instant now = cluster_.world().wall();
  while (age_check_ <= now) {
    const auto old = [&](const Record& r) {
      const Duration age = age_check_ - r.stored;
      return values_.in_memory ? age >= values_.max_age : age > values_.max_age;
    };
    while (first_ <= last_ && old(log_[first_])) remove(first_);
    age_check_ = first_ > last_
                     ? Instant::never()
                     : std::max(age_check_ + between_age_checks, log_[first_].stored + values_.max_age);
  }
  measure();
}

}  // namespace mqlab::sim::nats
