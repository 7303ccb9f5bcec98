#include "core/claims/delivery.h"

#include <algorithm>

namespace mqlab {

DeliveryChecker::DeliveryChecker(Scope scope, DeliveryParts parts, Excuses excuses)
    : scope_(std::move(scope)), parts_(parts), excuses_(std::move(excuses)), end_(scope_), reader_(scope_) {
  kinds_ = end_.kinds() | reader_.kinds() | bit(Kind::invoke) | bit(Kind::publish);
  if (parts_.phantoms) kinds_ |= bit(Kind::store_write);
  kinds_ |= excuses_.kinds();
}

void DeliveryChecker::see(const Row& row, std::uint64_t index) {
  if (excuses_.any()) excuses_.see(row);
  switch (row.kind) {
    case Kind::invoke:
      if (row.process >= scope_.workload.size() || scope_.workload[row.process] == 0) return;
      if (scope_.sends(row.process)) {
        sent_[row.message].invoked = 1;
      } else {
        sent_[row.message].elsewhere = 1;
      }
      if (parts_.phantoms) note_digest(row);
      return;
    case Kind::publish:
      see_publish(row, index);
      return;
    case Kind::store_write:
      if (row.phase == Phase::invoke) note_digest(row);
      return;
    case Kind::audit:
      see_audit(row, index);
      return;
    case Kind::quiet:
    case Kind::audit_end:
    case Kind::fetch:
      end_.see(row, index);
      return;
    default:
      break;
  }
  end_.see(row, index);
  const int lane = reader_.lane_of(row);
  if (lane >= 0) effect(row, index, static_cast<std::size_t>(lane));
  if (reader_.doubtful_lane(row) >= 0) sent_[row.message].pending = 1;
}

void DeliveryChecker::see_publish(const Row& row, std::uint64_t index) {
  if (parts_.phantoms && row.phase == Phase::invoke) note_digest(row);
  if (!scope_.sends(row.process) || row.message == 0) return;
  Sent& sent = sent_[row.message];
  if (row.phase == Phase::invoke) {
    if (sent.open < 4095) sent.open = sent.open + 1;
    return;
  }
  if (sent.open > 0) sent.open = sent.open - 1;
  if (row.phase == Phase::unknown) {
    sent.unknown = 1;
  } else if (row.phase == Phase::fail) {
    sent.failed = 1;
    if (!sent.acked) sent.settled_row = index;
  } else if (scope_.is_of(row.place) && !sent.acked) {
    sent.acked = 1;
    sent.settled_row = index;
  }
}

void DeliveryChecker::see_audit(const Row& row, std::uint64_t index) {
  end_.see(row, index);
  if (!is_record_audit(row) || row.message == 0) return;
  const bool outcome = (row.flags & (flag::aborted | flag::open)) == 0;
  if (outcome && scope_.is_dead(row.place)) sent_[row.message].dead = 1;
  if (reader_.open(row)) sent_[row.message].pending = 1;
  if (scope_.source == Source::audit || scope_.source == Source::store) {
    if (reader_.lane_of(row) >= 0) effect(row, index, 0);
  } else if (parts_.phantoms && scope_.source == Source::observer && (row.flags & flag::aborted) != 0 &&
             scope_.is_in(row.place) && reader_.was_read(row.place, row.position)) {
    suspects_.push_back({index, row.message, row.place, row.position, row.digest, true});
  }
}

void DeliveryChecker::note_digest(const Row& row) {
  if (row.digest == 0 || row.message == 0) return;
  std::uint64_t& first = digest_[row.message];
  if (first == 0) first = row.digest;
  if (first == row.digest) return;
  std::uint64_t& other = other_digest_[row.message];
  if (other == 0) other = row.digest;
  if (other != row.digest) more_digests_[row.message].push_back(row.digest);
}

bool DeliveryChecker::known_digest(MessageId id, std::uint64_t digest) const {
  const std::uint64_t first = digest_.get(id);
  if (digest == 0 || first == 0 || digest == first || digest == other_digest_.get(id)) return true;
  const auto more = more_digests_.find(id);
  return more != more_digests_.end() &&
         std::find(more->second.begin(), more->second.end(), digest) != more->second.end();
}

void DeliveryChecker::effect(const Row& row, std::uint64_t index, std::size_t lane) {
  const Sent sent = sent_.get(row.message);
  if (sent.elsewhere && !sent.invoked) return;
  ++observed_;
  Effects& effects = effects_[std::uint64_t{row.message} * scope_.lanes.size() + lane];
  if (effects.count == 0) {
    effects.first_row = index;
    effects.position = static_cast<std::uint64_t>(row.position + 1);
    effects.place = row.place == no_place ? 0 : row.place + 1;
  }
  if (effects.count < 0xfffff) effects.count = effects.count + 1;
  if (effects.count == 2 && ++duplicates_ == 1) {
    second_ = row;
    second_row_ = index;
    first_ = effects;
    duplicate_lane_ = lane;
  }
  // Whoever caused the effect wrote a row before it, but rows of two processes with one time may stand either
  // way: judged once all is seen.
  if (parts_.phantoms && (!sent.invoked || !known_digest(row.message, row.digest))) {
    suspects_.push_back({index, row.message, row.place, row.position, row.digest, false});
  }
}

bool DeliveryChecker::phantom(const Suspect& suspect) const {
  const Sent sent = sent_.get(suspect.id);
  if (sent.elsewhere && !sent.invoked) return false;
  return suspect.aborted || !sent.invoked || !known_digest(suspect.id, suspect.digest);
}

DeliveryChecker::Tally DeliveryChecker::tally() const {
  Tally t;
  sent_.for_each([&](std::uint64_t id, const Sent& sent) {
    if (!sent.invoked) return;
    ++t.invoked;
    if (sent.pending) ++t.pending;
    if (!sent.acked) {
      if (!sent.excluded()) ++t.unknown;
      return;
    }
    ++t.acked;
    if (!parts_.loss || sent.dead || sent.pending) return;
    for (std::size_t lane = 0; lane < scope_.lanes.size(); ++lane) {
      if (effects_.get(id * scope_.lanes.size() + lane).count > 0) continue;
      const Excuse excuse = excuses_.of(static_cast<MessageId>(id));
      t.excused += excuse == Excuse::excused;
      t.doubtful += excuse == Excuse::doubtful;
      if (excuse != Excuse::none) break;
      if (t.lost++ == 0) {
        t.first_lost = static_cast<MessageId>(id);
        t.lost_lane = lane;
      }
      break;  // one id is lost once, however many readers miss it
    }
  });
  return t;
}

std::vector<DeliveryChecker::Suspect> DeliveryChecker::phantoms() const {
  std::vector<Suspect> found;
  if (!parts_.phantoms) return found;
  for (const Suspect& suspect : suspects_) {
    if (phantom(suspect)) found.push_back(suspect);
  }
  sent_.for_each([&](std::uint64_t id, const Sent& sent) {
    if (!sent.excluded() || !sent.invoked) return;
    for (std::size_t lane = 0; lane < scope_.lanes.size(); ++lane) {
      const Effects effects = effects_.get(id * scope_.lanes.size() + lane);
      if (effects.count == 0) continue;
      found.push_back({effects.first_row, static_cast<MessageId>(id),
                       effects.place == 0 ? no_place : static_cast<PlaceId>(effects.place - 1),
                       static_cast<std::int64_t>(effects.position) - 1, 0, false});
    }
  });
  // One per id, the earliest; then in history order.
  std::sort(found.begin(), found.end(),
            [](const Suspect& a, const Suspect& b) { return a.id != b.id ? a.id < b.id : a.row < b.row; });
  found.erase(std::unique(found.begin(), found.end(),
                          [](const Suspect& a, const Suspect& b) { return a.id == b.id; }),
              found.end());
  std::sort(found.begin(), found.end(), [](const Suspect& a, const Suspect& b) { return a.row < b.row; });
  return found;
}

void DeliveryChecker::reset() {
  index_ = 0;
  excuses_.reset();
  end_.reset();
  reader_.reset();
  sent_.reset();
  effects_.reset();
  digest_.reset();
  other_digest_.reset();
  if (!more_digests_.empty()) more_digests_.clear();
  suspects_.clear();
  observed_ = duplicates_ = second_row_ = 0;
}

std::unique_ptr<Checker> make_delivery_checker(const ClaimSpec& claim, const Scenario& scenario,
                                               const Topology& topology, DeliveryParts parts) {
  const Parameters parameters(claim, scenario, {"deliveries", "stage"});
  Scope scope = resolve_scope(claim, scenario, topology, parameters);
  Excuses excuses(claim, scenario, topology, scope, parameters);
  return std::make_unique<DeliveryChecker>(std::move(scope), parts, std::move(excuses));
}

}  // namespace mqlab
