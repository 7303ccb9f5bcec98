#include "core/claims/log_order.h"

#include <algorithm>

namespace mqlab {

LogOrder::LogOrder(const LogFacts& facts, bool everything) {
  find_committed(facts);
  find_records(facts, everything);
  find_owners(facts.places());
  find_repeated(facts);
}

/// Outside transactions each send is a unit of its own; who read a record knows that its transaction took
/// place.
void LogOrder::find_committed(const LogFacts& facts) {
  committed_.resize(facts.units().size());
  for (std::size_t u = 0; u < committed_.size(); ++u)
    committed_[u] = facts.units()[u].fate == LogUnit::Fate::committed;
  std::vector<MessageId> read;
  for (const LogRead& r : facts.reads()) {
    if (r.id != 0 && committed_[r.unit] != 0) read.push_back(r.id);
  }
  for (const LogAudit& a : facts.audits()) {
    if (a.visible) read.push_back(a.id);
  }
  std::sort(read.begin(), read.end());
  for (const LogSend& s : facts.sends()) {
    const LogUnit& unit = facts.units()[s.unit];
    if (unit.fate == LogUnit::Fate::unknown && !unit.abort_asked &&
        std::binary_search(read.begin(), read.end(), s.id))
      committed_[s.unit] = 1;
  }
}

void LogOrder::find_records(const LogFacts& facts, bool everything) {
  const auto audit_only = [&](PlaceId place) { return !everything && facts.audited(place); };
  for (const LogSend& s : facts.sends()) {
    const bool counts = s.position >= 0 && s.phase != Phase::fail && committed(s.unit);
    if (counts && !audit_only(s.place)) records_.push_back({s.place, s.position, s.id});
  }
  for (const LogRead& r : facts.reads()) {
    if (r.id != 0 && !audit_only(r.place)) records_.push_back({r.place, r.position, r.id});
  }
  for (const LogAudit& a : facts.audits()) {
    if (a.visible || !audit_only(a.place)) records_.push_back({a.place, a.position, a.id});
  }
  std::sort(records_.begin(), records_.end());
  records_.erase(std::unique(records_.begin(), records_.end()), records_.end());
}

void LogOrder::find_owners(std::size_t places) {
  using Key = std::pair<PlaceId, MessageId>;
  std::vector<Key> stands;  // once for each position
  for (const Record& r : records_) {
    stands.push_back({r.place, r.id});
    log_of_.push_back({r.id, r.place});
  }
  std::sort(stands.begin(), stands.end());
  std::sort(log_of_.begin(), log_of_.end());
  const auto alone = [&](const Record& r) {
    const auto range = std::equal_range(stands.begin(), stands.end(), Key{r.place, r.id});
    return range.second - range.first == 1;
  };
  slots_.resize(places);
  for (std::size_t i = 0; i < records_.size();) {
    const Record& first = records_[i];
    MessageId owner = 0;
    std::size_t end = i;
    for (; end < records_.size() && records_[end].place == first.place &&
           records_[end].position == first.position;
         ++end) {
      if (owner == 0 && alone(records_[end])) owner = records_[end].id;
    }
    if (owner == 0) owner = first.id;
    slots_[first.place].push_back({first.position, owner});
    last_.push_back({{first.place, owner}, first.position});
    i = end;
  }
  std::sort(last_.begin(), last_.end());
}

std::vector<LogOrder::Slot>::const_iterator LogOrder::slot(PlaceId place, std::int64_t position) const {
  const std::vector<Slot>& slots = slots_[place];
  return std::lower_bound(slots.begin(), slots.end(), position,
                          [](const Slot& s, std::int64_t p) { return s.position < p; });
}

std::int64_t LogOrder::index_of(PlaceId place, std::int64_t position) const {
  return slot(place, position) - slots_[place].begin();
}

MessageId LogOrder::owner(PlaceId place, std::int64_t position) const {
  const auto found = slot(place, position);
  return found == slots_[place].end() || found->position != position ? 0 : found->owner;
}

std::vector<MessageId> LogOrder::between(PlaceId place, std::int64_t from, std::int64_t to) const {
  std::vector<MessageId> ids;
  for (auto s = slot(place, from + 1); s != slots_[place].end() && s->position < to; ++s)
    ids.push_back(s->owner);
  return ids;
}

std::int64_t LogOrder::last_of(PlaceId place, MessageId id) const {
  const std::pair<PlaceId, MessageId> key = {place, id};
  const auto after = std::upper_bound(last_.begin(), last_.end(), key,
                                      [](const auto& k, const auto& entry) { return k < entry.first; });
  return after == last_.begin() || std::prev(after)->first != key ? -1 : std::prev(after)->second;
}

std::int64_t LogOrder::place_of(PlaceId place, std::int64_t position, MessageId id) const {
  const MessageId has = owner(place, position);
  return has == id || has == 0 ? position : last_of(place, id);
}

void LogOrder::find_repeated(const LogFacts& facts) {
  std::vector<MessageId> sent;
  for (const LogSend& s : facts.sends()) sent.push_back(s.id);
  std::sort(sent.begin(), sent.end());
  for (std::size_t i = 1; i < sent.size(); ++i) {
    if (sent[i] == sent[i - 1]) repeated_.push_back(sent[i]);
  }
}

LogOrder::Record LogOrder::where(const LogSend& send) const {
  if (send.phase == Phase::fail || !committed(send.unit)) return {};
  Record found{send.place, -1, send.id};
  if (send.position >= 0) {
    found.position = place_of(send.place, send.position, send.id);
  } else if (!std::binary_search(repeated_.begin(), repeated_.end(), send.id)) {
    if (found.place == no_place) found.place = log_of(send.id);
    if (found.place != no_place) found.position = last_of(found.place, send.id);
  }
  return found;
}

/// The log in which the id was seen last; no_place = none.
PlaceId LogOrder::log_of(MessageId id) const {
  const auto after = std::upper_bound(log_of_.begin(), log_of_.end(), std::pair{id, no_place});
  return after == log_of_.begin() || std::prev(after)->first != id ? no_place : std::prev(after)->second;
}

}  // namespace mqlab
