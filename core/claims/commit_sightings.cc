#include "core/claims/commit_sightings.h"

#include <algorithm>

#include "core/history/audit.h"

namespace mqlab {

CommitSightings::CommitSightings(const Scope& scope)
    : scope_(&scope),
      places_(scope.places.size()),
      readers_(places_),
      committed_(scope.lanes.size() * places_),
      open_(scope.processes.size()) {
  for (std::size_t lane = 0; lane < scope.lanes.size(); ++lane) {
    acked_.emplace_back(places_);
    for (const PlaceId place : scope.inputs[lane])
      readers_[place].push_back(static_cast<std::uint16_t>(lane));
  }
}

void CommitSightings::see(const Row& row, std::uint64_t index) {
  if (row.kind == Kind::audit) {
    if (!is_offset_audit(row) || !scope_->is_of(row.place) || row.position < 0) return;
    for (const std::uint16_t lane : readers_[row.place]) {
      if (row.key == scope_->stage_number[lane]) committed(lane, row.place, row.position, index, true);
    }
    return;
  }
  const int found = scope_->lane_of(row.process);
  if (found < 0) return;
  const auto lane = static_cast<std::size_t>(found);
  if (row.kind == Kind::commit_transaction || row.kind == Kind::abort_transaction) {
    see_transaction(row, lane);
  } else if (row.kind == Kind::assigned) {
    if (row.phase == Phase::ok && (row.flags & flag::header) == 0 && scope_->is_of(row.place) &&
        row.position >= 0)
      committed(lane, row.place, row.position, index, true);
  } else if (row.kind != Kind::commit && row.kind != Kind::ack && row.kind != Kind::offsets_to_transaction) {
    return;
  } else if (row.phase == Phase::invoke) {
    const PlaceId place = row.kind == Kind::ack ? scope_->queue[lane] : row.place;
    if ((row.flags & flag::header) != 0 || !scope_->is_of(place) || row.position < 0) return;
    open_[row.process].push_back(
        {row.kind, row.op, row.incarnation, row.transaction, place, row.position, index});
  } else {
    see_settled(row, lane);
  }
}

/// Offsets that a transaction took wait for its end; those it refused are gone.
void CommitSightings::see_settled(const Row& row, std::size_t lane) {
  if (row.kind == Kind::offsets_to_transaction && row.phase != Phase::fail) return;
  std::erase_if(open_[row.process], [&](const Asked& asked) {
    if (asked.kind != row.kind || asked.op != row.op || asked.incarnation != row.incarnation) return false;
    if (row.phase != Phase::fail) sight(lane, asked, row.phase == Phase::ok);
    return true;
  });
}

void CommitSightings::see_transaction(const Row& row, std::size_t lane) {
  if (row.transaction == 0) return;
  const bool commits = row.kind == Kind::commit_transaction;
  std::erase_if(open_[row.process], [&](Asked& asked) {
    const bool its = asked.kind == Kind::offsets_to_transaction && asked.transaction == row.transaction &&
                     asked.incarnation == row.incarnation;
    if (!its) return false;
    if (commits) {
      asked.commit_asked = row.phase != Phase::fail;
      if (row.phase == Phase::ok || row.phase == Phase::unknown) sight(lane, asked, row.phase == Phase::ok);
    }
    return row.phase == Phase::ok;  // else it may be asked again
  });
}

void CommitSightings::sight(std::size_t lane, const Asked& asked, bool certain) {
  if (asked.kind != Kind::ack) return committed(lane, asked.place, asked.position, asked.row, certain);
  Acked& acked = acked_[lane].at(asked.place, asked.position);
  acked.perhaps = std::min(acked.perhaps, asked.row);
  if (certain) acked.certainly = std::min(acked.certainly, asked.row);
}

/// Only a position above all before, or told of earlier than they were, covers anything new.
void CommitSightings::committed(std::size_t lane, PlaceId place, std::int64_t next, std::uint64_t row,
                                bool certain) {
  Place& p = at(lane, place);
  const auto add = [&](std::vector<Sighting>& to) {
    if (to.empty() || next > to.back().next || row < to.back().row) to.push_back({row, next});
  };
  add(p.all);
  if (!certain) return;
  add(p.certain);
  p.passed = std::max(p.passed, next);
}

bool CommitSightings::passed(std::size_t lane, PlaceId place, std::int64_t position) const {
  return position < at(lane, place).passed || acked_[lane].get(place, position).certainly != Covered::never;
}

void CommitSightings::settle() {
  open_acks_.clear();
  for (Place& place : committed_) {
    place.certain_by_row = by_row(place.certain);
    place.all_by_row = place.all;
  }
  for (ProcessId process = 0; process < open_.size(); ++process) {
    for (const Asked& asked : open_[process])
      perhaps_at_the_end(static_cast<std::size_t>(scope_->lane_of(process)), asked);
  }
  for (Place& place : committed_) place.all_by_row = by_row(std::move(place.all_by_row));
}

void CommitSightings::perhaps_at_the_end(std::size_t lane, const Asked& asked) {
  if (asked.kind == Kind::ack) {
    open_acks_.try_emplace({lane, asked.place, asked.position}, asked.row);
  } else if (asked.kind == Kind::commit || asked.commit_asked) {
    at(lane, asked.place).all_by_row.push_back({asked.row, asked.position});
  }
}

/// Sorted by row, each with the highest position up to it.
std::vector<CommitSightings::Sighting> CommitSightings::by_row(std::vector<Sighting> sightings) {
  std::sort(sightings.begin(), sightings.end(), [](const Sighting& a, const Sighting& b) {
    return a.row != b.row ? a.row < b.row : a.next < b.next;
  });
  for (std::size_t i = 1; i < sightings.size(); ++i)
    sightings[i].next = std::max(sightings[i].next, sightings[i - 1].next);
  return sightings;
}

std::uint64_t CommitSightings::first_past(const std::vector<Sighting>& sightings, std::int64_t position) {
  const auto found = std::partition_point(sightings.begin(), sightings.end(),
                                          [&](const Sighting& s) { return s.next <= position; });
  return found == sightings.end() ? Covered::never : found->row;
}

Covered CommitSightings::covered(std::size_t lane, PlaceId place, std::int64_t position) const {
  const Place& p = at(lane, place);
  const Acked acked = acked_[lane].get(place, position);
  Covered covered = {std::min(acked.certainly, first_past(p.certain_by_row, position)),
                     std::min(acked.perhaps, first_past(p.all_by_row, position))};
  const auto open = open_acks_.find({lane, place, position});
  if (open != open_acks_.end()) covered.perhaps = std::min(covered.perhaps, open->second);
  return covered;
}

void CommitSightings::reset() {
  for (Place& place : committed_) {
    place.certain.clear();
    place.all.clear();
    place.passed = 0;
  }
  for (Positions<Acked>& acked : acked_) acked.reset();
  for (std::vector<Asked>& open : open_) open.clear();
}

}  // namespace mqlab
