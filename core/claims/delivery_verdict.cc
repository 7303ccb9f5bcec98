// From what the delivery claims counted to their verdicts, in sentences.
#include <algorithm>

#include "core/claims/delivery.h"
#include "core/claims/wording.h"

namespace mqlab {

void DeliveryChecker::tell_duplicate(Finding& finding) const {
  const std::string id = "id " + std::to_string(second_.message);
  const std::string& lane = scope_.lanes[duplicate_lane_];
  const std::string first = scope_.at(first_.place == 0 ? no_place : static_cast<PlaceId>(first_.place - 1),
                                      static_cast<std::int64_t>(first_.position) - 1);
  const std::string second = scope_.at(second_.place, second_.position);
  const std::string both = first_.place == 0 ? ""
                           : first == second ? ", both times " + first
                                             : ": " + first + " and " + second;
  switch (scope_.source) {
    case Source::audit:
    case Source::store:
      finding.explanation = id + " is in " + lane + " twice" + both;
      break;
    case Source::observer:
      finding.explanation = id + " reached " + lane + " twice" + both;
      break;
    case Source::completed:
      finding.explanation = lane + " completed " + id + " twice" + both;
      break;
    case Source::handled:
      finding.explanation = lane + " handled " + id + " twice" + both;
      break;
  }
  finding.message = second_.message;
  finding.witness = {first_.first_row, second_row_};
}

void DeliveryChecker::tell_loss(Finding& finding, const Tally& tally) const {
  const std::string& lane = scope_.lanes[tally.lost_lane];
  std::string what = "id " + std::to_string(tally.first_lost) + " was acked by " + scope_.of + ", but ";
  switch (scope_.source) {
    case Source::audit:
    case Source::store:
      what += "is not in " + lane;
      break;
    case Source::observer:
      what += "never reached " + lane;
      break;
    case Source::completed:
      what += lane + " never completed it";
      break;
    case Source::handled:
      what += lane + " never handled it";
      break;
  }
  finding.explanation = what;
  finding.message = tally.first_lost;
  const std::uint64_t acked = sent_.get(tally.first_lost).settled_row;
  finding.witness = {std::min(acked, end_.quiet_row()), std::max(acked, end_.quiet_row())};
}

void DeliveryChecker::tell_phantom(Finding& finding, const Suspect& suspect) const {
  const Sent sent = sent_.get(suspect.id);
  std::string what = "id " + std::to_string(suspect.id) + " has an effect";
  if (suspect.place != no_place) what += " (" + scope_.at(suspect.place, suspect.position) + ")";
  finding.message = suspect.id;
  finding.witness = {suspect.row};
  if (suspect.aborted) {
    what += ", though its transaction was aborted";
  } else if (!sent.invoked) {
    what += ", but nobody asked for it";
  } else if (sent.excluded()) {
    what += ", though its publish failed";
    finding.witness = {std::min<std::uint64_t>(sent.settled_row, suspect.row),
                       std::max<std::uint64_t>(sent.settled_row, suspect.row)};
  } else {
    what += " whose content is not what was published";
  }
  finding.explanation = what;
}

std::string DeliveryChecker::why_undecided(const Tally& t, Finding& finding) const {
  if (t.pending > 0)
    return "for " + counted(t.pending, "id") +
           " nobody can tell whether an effect is there: an open transaction, or a handler whose end is "
           "unknown";
  if (t.doubtful > 0)
    return "of " + counted(t.doubtful, "id") +
           " without effect nobody can tell whether the loss is excused: a publish or transaction of unknown "
           "outcome";
  if ((parts_.end_judged() && t.acked == 0) || t.invoked == 0) {
    finding.vacuous = true;
    return "no id was acked by " + scope_.of;
  }
  if (observed_ < scope_.observed_at_least)
    return too_few(finding, observed_, scope_.observed_at_least, "effect");
  if (too_uncertain(t.unknown, t.invoked, scope_.unknown_at_most)) return uncertain(t.unknown, t.invoked);
  return "";
}

Finding DeliveryChecker::finish() {
  Finding finding;
  const Tally t = tally();
  const std::vector<Suspect> found = phantoms();
  finding.observed = observed_;
  finding.population = t.acked;
  const std::uint64_t duplicates = parts_.duplicates ? duplicates_ : 0;
  finding.violations = duplicates + t.lost + found.size();
  const std::string incomplete = end_.complete() ? "" : end_.problem(scope_);
  if (!incomplete.empty() && parts_.end_judged()) {
    finding.explanation = incomplete;
    finding.violations = 0;  // what is missing may still come
    return finding;
  }
  if (finding.violations > 0) {
    finding.verdict = Verdict::violated;
    if (duplicates > 0) {
      tell_duplicate(finding);
    } else if (t.lost > 0) {
      tell_loss(finding, t);
    } else {
      tell_phantom(finding, found.front());
    }
    if (finding.violations > 1)
      finding.explanation += " (and " + std::to_string(finding.violations - 1) + " more)";
    return finding;
  }
  const std::string doubt = !incomplete.empty() ? incomplete : why_undecided(t, finding);
  finding.verdict = doubt.empty() ? Verdict::holds : Verdict::undecided;
  finding.explanation =
      doubt.empty() ? counted(observed_, "effect") + " of " + counted(t.acked, "acked id") : doubt;
  if (doubt.empty() && t.excused > 0)
    finding.explanation +=
        ", " + std::to_string(t.excused) + (t.excused == 1 ? " loss" : " losses") + " excused";
  return finding;
}

}  // namespace mqlab
