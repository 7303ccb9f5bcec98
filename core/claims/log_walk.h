// The order in which processes read and send, walked pair by pair.
#pragma once
#include <vector>

#include "core/claims/log_checker.h"
#include "core/claims/log_order.h"

namespace mqlab {

/// Two records that one process met one after the other in one log.
struct LogPair {
  bool within = false;  ///< in one transaction or batch
  PlaceId place = no_place;
  MessageId first = 0, second = 0;
  std::int64_t from = -1, to = -1;  ///< where they stand
  std::uint64_t first_row = 0, second_row = 0;

  std::int64_t delta(const LogOrder& order) const {
    return order.index_of(place, to) - order.index_of(place, from);
  }
};

namespace log_detail {

struct Met {
  std::int64_t position = -1;
  MessageId id = 0;
  std::uint64_t row = 0;
};
/// A process in a log.
struct Walker {
  Met base;  ///< the last record of the units that count
  Met last;  ///< of the unit under way
  std::uint32_t unit = 0;
  Incarnation incarnation = 0;
  bool open = false;  ///< `unit` is set
};

template <class F>
void meet(Walker& w, std::uint32_t unit, bool last_counts, PlaceId place, const Met& met, F&& pair) {
  const bool within = w.open && w.unit == unit;
  if (w.open && !within && last_counts && w.last.id != 0) w.base = w.last;
  const Met& before = within ? w.last : w.base;
  if (before.id != 0)
    pair(LogPair{within, place, before.id, met.id, before.position, met.position, before.row, met.row});
  w.unit = unit;
  w.open = true;
  w.last = met;
}

}  // namespace log_detail

/// Calls pair(LogPair) for each record that is read after another one. What an aborted or unfinished
/// transaction read is compared with what came before it, but nothing after with it: its positions are rolled
/// back.
template <class F>
void walk_reads(const LogFacts& facts, const LogOrder& order, F&& pair) {
  std::vector<log_detail::Walker> walkers(facts.processes() * facts.places());
  for (const LogRead& r : facts.reads()) {
    log_detail::Walker& w = walkers[r.process * facts.places() + r.place];
    if (r.id == 0 || w.incarnation != r.incarnation) w = {};
    w.incarnation = r.incarnation;
    if (r.id == 0) continue;
    const std::int64_t at = order.place_of(r.place, r.position, r.id);
    if (at < 0) continue;
    const bool counts = w.open && facts.units()[w.unit].fate == LogUnit::Fate::committed;
    log_detail::meet(w, r.unit, counts, r.place, {at, r.id, r.row}, pair);
  }
}

/// Calls pair(LogPair) for each record sent after another one, as far as it is known where both stand.
template <class F>
void walk_sends(const LogFacts& facts, const LogOrder& order, F&& pair) {
  std::vector<log_detail::Walker> walkers(facts.processes() * facts.places());
  auto lost = facts.reads().begin();
  for (const LogSend& s : facts.sends()) {
    for (; lost != facts.reads().end() && lost->row < s.asked; ++lost) {
      if (lost->id == 0 && lost->sends_too) walkers[lost->process * facts.places() + lost->place] = {};
    }
    const LogOrder::Record stands = order.where(s);
    if (stands.position < 0) continue;
    log_detail::Walker& w = walkers[s.process * facts.places() + stands.place];
    if (w.incarnation != s.incarnation) w = {};
    w.incarnation = s.incarnation;
    log_detail::meet(w, s.unit, true, stands.place, {stands.position, s.id, s.row}, pair);
  }
}

/// An anomaly `name` if records stand between the two of the pair, in the direction of the log.
inline void report_skip(LogJudgement& j, const LogPair& pair, const char* name) {
  if (pair.to <= pair.from) return;
  std::vector<MessageId> skipped = j.order.between(pair.place, pair.from, pair.to);
  if (skipped.empty()) return;
  j.report({.name = name,
            .place = pair.place,
            .ids = {pair.first, pair.second},
            .skipped = std::move(skipped),
            .delta = pair.delta(j.order),
            .rows = {pair.first_row, pair.second_row}});
}

}  // namespace mqlab
