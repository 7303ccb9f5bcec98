#include <algorithm>

#include "core/claims/end_phase.h"
#include "core/claims/order_causal.h"

namespace mqlab {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool may_write(const Scenario& scenario, const ProcessInfo& process, const std::string& topic) {
  if (process.role == Role::workload) return scenario.workloads[process.index].topic == topic;
  if (process.role != Role::stage) return false;
  const StageSpec& stage = scenario.stages[process.index];
  return has(stage.outputs, topic) || stage.retry.dead_letter == topic;
}

}  // namespace

Causes::Causes(const Scenario& scenario, const Topology& topology)
    : numbers_(topology.processes.size()), at_(topology.places.size()) {
  for (const PlaceInfo& place : topology.places) topic_.push_back(place.topic);
  for (const TopicInfo& topic : topology.topics) {
    std::vector<std::uint8_t>& writes = writes_.emplace_back();
    for (const ProcessInfo& process : topology.processes)
      writes.push_back(may_write(scenario, process, topic.name));
  }
}

std::uint64_t Causes::kinds() {
  return bit(Kind::publish) | bit(Kind::handle) | bit(Kind::commit_transaction);
}

std::uint32_t Causes::sender_of(const Row& row) {
  std::vector<std::uint32_t>& numbers = numbers_[row.process];
  if (numbers.size() <= row.incarnation) numbers.resize(std::size_t{row.incarnation} + 1);
  std::uint32_t& number = numbers[row.incarnation];
  if (number == 0) {
    senders_.emplace_back();
    number = static_cast<std::uint32_t>(senders_.size());
  }
  return number - 1;
}

void Causes::see(const Row& row, std::uint64_t index) {
  if (row.process >= numbers_.size()) return;
  if (row.kind == Kind::publish) {
    see_publish(row, index);
  } else if (row.kind == Kind::handle) {
    const bool record = row.phase == Phase::ok && row.message != 0 && row.place < topic_.size();
    if (record) steps_.push_back({sender_of(row), none, row.message, row.place, row.position});
  } else if (row.kind == Kind::commit_transaction && row.phase == Phase::ok && row.transaction != 0) {
    senders_[sender_of(row)].committed.push_back(row.transaction);
  }
}

void Causes::see_publish(const Row& row, std::uint64_t index) {
  const std::uint32_t number = sender_of(row);
  Sender& sender = senders_[number];
  if (row.phase == Phase::invoke) {
    if (row.message == 0) return;
    const auto at = static_cast<std::uint32_t>(publishes_.size());
    Publish publish;
    publish.id = row.message;
    publish.sender = number;
    publish.number = ++sender.published;
    publish.transaction = row.transaction;
    publish.row = index;
    publish.process = row.process;
    std::uint32_t& last = last_of_[row.message];
    publish.before = last - 1;  // none, when there was none
    last = at + 1;
    sender.by_op[row.op] = at + 1;
    publishes_.push_back(publish);
    steps_.push_back({number, at, row.message, no_place, -1});
    return;
  }
  const std::uint32_t at = sender.by_op.get(row.op);
  if (at == 0 || row.phase == Phase::unknown) return;
  Publish& publish = publishes_[at - 1];
  publish.failed = row.phase == Phase::fail;
  publish.place = publish.failed || row.place >= topic_.size() ? no_place : row.place;
  publish.position = publish.place == no_place ? -1 : row.position;
}

bool Causes::acked(const Publish& publish) const {
  if (publish.place == no_place) return false;
  const std::vector<std::uint32_t>& committed = senders_[publish.sender].committed;
  return publish.transaction == 0 ||
         std::binary_search(committed.begin(), committed.end(), publish.transaction);
}

std::uint32_t Causes::source(MessageId id, PlaceId place, std::int64_t position) const {
  const std::uint32_t acked = position < 0 ? 0 : at_.get(place, position);
  if (acked != 0 && publishes_[acked - 1].id == id) return acked - 1;
  const std::vector<std::uint8_t>& writes = writes_[topic_[place]];
  std::uint32_t only = none;
  for (std::uint32_t p = last_of_.get(id) - 1; p != none; p = publishes_[p].before) {
    if (publishes_[p].failed || writes[publishes_[p].process] == 0) continue;
    if (only != none) return none;
    only = p;
  }
  return only;
}

void Causes::handled(const Step& step) {
  const std::uint32_t from = source(step.id, step.place, step.position);
  if (from == none || from >= clocks_.size()) return;  // not told, or sent later
  std::vector<std::uint32_t>& clock = senders_[step.sender].clock;
  const Clock& other = clocks_[from];
  const Publish& publish = publishes_[from];
  if (clock.size() < std::max<std::size_t>(other.length, publish.sender + 1))
    clock.resize(std::max<std::size_t>(other.length, publish.sender + 1));
  for (std::uint32_t s = 0; s < other.length; ++s) clock[s] = std::max(clock[s], values_[other.begin + s]);
  clock[publish.sender] = std::max(clock[publish.sender], publish.number);
}

void Causes::settle() {
  clocks_.clear();
  values_.clear();
  at_.reset();
  for (Sender& sender : senders_) {
    sender.clock.clear();
    std::sort(sender.committed.begin(), sender.committed.end());
  }
  for (std::uint32_t p = 0; p < publishes_.size(); ++p) {
    const Publish& publish = publishes_[p];
    if (publish.place != no_place && publish.position >= 0) at_.at(publish.place, publish.position) = p + 1;
  }
  for (const Step& step : steps_) {
    if (step.publish == none) {
      handled(step);
      continue;
    }
    std::vector<std::uint32_t>& clock = senders_[step.sender].clock;
    clocks_.push_back({values_.size(), static_cast<std::uint32_t>(clock.size())});
    values_.insert(values_.end(), clock.begin(), clock.end());
    if (clock.size() <= step.sender) clock.resize(step.sender + 1);
    clock[step.sender] = publishes_[step.publish].number;
  }
}

void Causes::reset() {
  for (std::vector<std::uint32_t>& numbers : numbers_) numbers.clear();
  senders_.clear();
  publishes_.clear();
  steps_.clear();
  last_of_.reset();
  at_.reset();
}

}  // namespace mqlab
