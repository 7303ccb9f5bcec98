#include "core/claims/end_phase.h"

#include "core/history/audit.h"

namespace mqlab {

EndPhase::EndPhase(const Scope& scope)
    : concerned_(scope.concerned), audits_(scope.concerned.size()), observer_(scope.observer) {
  for (PlaceId p = 0; p < concerned_.size(); ++p) {
    if (concerned_[p] == 0) continue;
    places_.push_back(p);
    if (scope.source == Source::store && scope.is_in(p)) store_ = p;
  }
}

std::uint64_t EndPhase::kinds() const {
  const std::uint64_t always = bit(Kind::quiet) | bit(Kind::audit) | bit(Kind::audit_end);
  return observer_ == no_process ? always : always | bit(Kind::fetch) | bit(Kind::deliver);
}

void EndPhase::see(const Row& row, std::uint64_t index) {
  switch (row.kind) {
    case Kind::quiet:
      quiet_ = row.phase == Phase::ok;
      restless_ = !quiet_;
      quiet_row_ = index;
      break;
    case Kind::audit:
      if (row.place >= concerned_.size() || concerned_[row.place] == 0 || !is_record_audit(row)) break;
      ++audits_[row.place].found;
      if (row.place != store_ && row.position <= audits_[row.place].last)
        audits_[row.place].disordered = true;
      audits_[row.place].last = row.position;
      break;
    case Kind::audit_end:
      if (row.place >= concerned_.size() || concerned_[row.place] == 0) break;
      audits_[row.place].ended = true;
      audits_[row.place].failed = row.phase != Phase::ok;
      audits_[row.place].announced = row.aux;
      break;
    default:
      if (row.process == observer_ && observer_ != no_process) see_reading(row);
  }
}

/// A batch says how many records follow. One that is short, be it for the observer's death, may hide a
/// reading.
void EndPhase::see_reading(const Row& row) {
  if (row.kind == Kind::deliver) {
    if (--batch_open_ < 0) batch_short_ = true;
  } else if (row.kind == Kind::fetch && row.phase == Phase::ok && (row.flags & flag::header) != 0) {
    if (batch_open_ != 0) batch_short_ = true;
    batch_open_ = row.aux;
  }
}

bool EndPhase::complete() const {
  if (!quiet_ || batch_short_ || batch_open_ != 0) return false;
  for (const PlaceId p : places_) {
    if (!audits_[p].complete()) return false;
  }
  return true;
}

std::string EndPhase::problem(const Scope& scope) const {
  if (restless_) return "the run did not come to rest before its horizon";
  if (!quiet_) return "the history ends before the system came to rest";
  for (const PlaceId p : places_) {
    const Place& place = audits_[p];
    const std::string& name = scope.places[p];
    if (place.failed) return "the auditor could not read " + name + " to its end";
    if (!place.ended) return "the history ends before " + name + " was audited";
    if (place.disordered) return "the audit of " + name + " is not in the order of positions";
    if (place.found != place.announced) {
      return "the auditor found " + std::to_string(place.announced) + " records in " + name +
             ", the history has " + std::to_string(place.found);
    }
  }
  if (batch_short_ || batch_open_ != 0)
    return "the history lacks records that reached " + scope.name_of_process(observer_);
  return "";
}

void EndPhase::reset() {
  for (const PlaceId p : places_) audits_[p] = {};
  batch_open_ = 0;
  batch_short_ = quiet_ = restless_ = false;
  quiet_row_ = 0;
}

}  // namespace mqlab
