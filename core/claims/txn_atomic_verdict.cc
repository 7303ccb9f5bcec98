// What txn.atomic makes of what it saw.
#include <algorithm>

#include "core/claims/txn_atomic.h"
#include "core/claims/wording.h"

namespace mqlab {

/// Records at positions that nobody was acked, and publishes that were never acked: told by the id alone.
/// Such a record is surely a transaction's when its id was published in no other and not outside any.
void TxnAtomic::place_untold() {
  for (Transaction& t : transactions_) {
    t.untold_visible = t.untold_hidden = 0;
    t.pending = t.open > 0;
  }
  unclaimed_.for_each([&](std::uint64_t id, const Unclaimed& unclaimed) {
    const Publishers publishers = publishers_.get(id);
    if (unclaimed.visible == 0 || publishers.several || publishers.first == 0 ||
        publishers.first == no_transaction)
      return;
    Transaction& t = transactions_[publishers.first - 1];
    ++t.untold_visible;
    if (t.found_row != none) return;
    t.found_row = unclaimed.row;
    t.found_message = static_cast<MessageId>(id);
  });
  const auto place = [&](const OpenPublish& publish) {
    if (publish.transaction == no_transaction) return;
    Transaction& t = transactions_[publish.transaction];
    const Unclaimed unclaimed = unclaimed_.get(publish.message);
    if (unclaimed.open > 0) t.pending = true;
    if (unclaimed.open == 0 && unclaimed.visible == 0) ++t.untold_hidden;
  };
  for (const OpenPublish& publish : untold_) place(publish);
  open_.for_each(place);
}

/// Who asked for this very offset, in the order of rows.
std::span<const TxnAtomic::Give> TxnAtomic::gives_of(const Seen& seen) const {
  const auto key = [](const auto& x) { return std::tuple(x.stage, x.place, x.offset); };
  const auto less = [&](const auto& a, const auto& b) { return key(a) < key(b); };
  const auto first = std::lower_bound(gives_.begin(), gives_.end(), seen, less);
  const auto last = std::upper_bound(first, gives_.end(), seen, less);
  return {first, last};
}

/// The last row that asked for this offset and may have got it, plus one; 0 when there is none.
std::uint64_t TxnAtomic::last_standing_give(const Seen& final_offset) const {
  std::uint64_t last = 0;
  for (const Give& give : gives_of(final_offset)) {
    if (!gone(give.transaction)) last = give.row + 1;
  }
  return last;
}

/// A committed offset was seen. It is that of the last transaction that had asked for it, if all others that
/// had are aborted.
void TxnAtomic::weigh_sighting(const Seen& seen) {
  std::span<const Give> gives = gives_of(seen);
  while (!gives.empty() && gives.back().row > seen.row) gives = gives.first(gives.size() - 1);
  if (gives.empty()) return;
  const std::uint32_t last = gives.back().transaction;
  if (last == no_transaction) return;
  for (const Give& give : gives) {
    if (give.transaction != last && !gone(give.transaction)) return;
  }
  Sighting& present = evidence_[last].present;
  if (present.row == none) present = {seen.row, seen.place, seen.offset};
}

void TxnAtomic::weigh_offsets() {
  std::sort(gives_.begin(), gives_.end(), [](const Give& a, const Give& b) { return a.order() < b.order(); });
  evidence_.assign(transactions_.size(), {});
  for (const Seen& seen : seen_) weigh_sighting(seen);
  std::map<std::pair<std::int16_t, PlaceId>, std::uint64_t> standing;
  for (const auto& [where, final_offset] : final_) standing[where] = last_standing_give(final_offset);
  for (const Give& give : gives_) {
    if (give.transaction == no_transaction) continue;
    const auto final_offset = final_.find({give.stage, give.place});
    // A later commit that set the offset back explains a lower one.
    if (final_offset == final_.end() || final_offset->second.offset >= give.offset) continue;
    if (standing[final_offset->first] > give.row + 1) continue;
    Sighting& missing = evidence_[give.transaction].missing;
    if (missing.row == none) missing = {final_offset->second.row, give.place, give.offset};
  }
}

TxnAtomic::Problem TxnAtomic::problem(std::uint32_t transaction) const {
  const Transaction& t = transactions_[transaction];
  const Evidence& e = evidence_[transaction];
  switch (t.outcome()) {
    case Outcome::committed:
      if (t.any_hidden()) return Problem::record_missing;
      return e.missing.row != none ? Problem::offsets_missing : Problem::none;
    case Outcome::aborted:
      if (t.any_visible()) return Problem::record_visible;
      return e.present.row != none ? Problem::offsets_present : Problem::none;
    case Outcome::unknown:
      break;
  }
  if (t.any_visible() && t.any_hidden()) return Problem::records_torn;
  if (t.any_visible() && e.missing.row != none) return Problem::records_without_offsets;
  return t.any_hidden() && e.present.row != none ? Problem::offsets_without_records : Problem::none;
}

/// "id 3 (vectors/1@2)", a record that was written and is not to be seen; its row.
std::string TxnAtomic::hidden_record(std::uint32_t transaction, std::uint64_t& row) const {
  std::string found;
  row = none;
  cells_.for_each([&](PlaceId place, std::int64_t position, const Cell& cell) {
    if (cell.transaction != transaction + 1 || cell.found || cell.row >= row) return;
    row = cell.row;
    found = "id " + std::to_string(cell.message) + " (" + scope_.at(place, position) + ")";
  });
  const auto untold = [&](const OpenPublish& publish) {
    if (publish.transaction != transaction || row != none) return;
    if (unclaimed_.get(publish.message).visible > 0) return;
    row = publish.row;
    found = "id " + std::to_string(publish.message);
  };
  for (const OpenPublish& publish : untold_) untold(publish);
  open_.for_each(untold);
  return row == none ? "a record" : found;
}

void TxnAtomic::tell(Finding& finding, std::uint32_t transaction, Problem problem) const {
  const Transaction& t = transactions_[transaction];
  const Evidence& e = evidence_[transaction];
  const TransactionNumbers::Name& name = numbers_.name(transaction);
  const std::string visible = "id " + std::to_string(t.found_message);
  const bool unseen = problem == Problem::offsets_missing || problem == Problem::records_without_offsets;
  const Sighting& sighting = unseen ? e.missing : e.present;
  const std::string offsets = "its offset " + scope_.at(sighting.place, sighting.offset);
  std::uint64_t hidden_row = none;
  const std::string hidden = t.any_hidden() ? hidden_record(transaction, hidden_row) : "";
  std::string what =
      "transaction " + std::to_string(name.number) + " of " + scope_.name_of_process(name.process);
  std::vector<std::uint64_t> rows = {ended_row(transaction)};
  switch (problem) {
    case Problem::none:
      return;
    case Problem::record_missing:
      what += " was committed, but " + hidden + " is not to be seen";
      break;
    case Problem::record_visible:
      what += (t.commits == 0 ? " was never to be committed, but " : " was aborted, but ") + visible +
              " is visible";
      break;
    case Problem::records_torn:
      what += " is torn: " + visible + " is visible, " + hidden + " is not";
      break;
    case Problem::offsets_missing:
      what += " was committed, but " + offsets + " was not";
      break;
    case Problem::offsets_present:
      what += " was aborted, but " + offsets + " was committed";
      break;
    case Problem::offsets_without_records:
      what += " is torn: " + offsets + " was committed, " + hidden + " is not to be seen";
      break;
    case Problem::records_without_offsets:
      what += " is torn: " + visible + " is visible, " + offsets + " was not committed";
      break;
  }
  if (problem == Problem::record_visible || problem == Problem::records_torn ||
      problem == Problem::records_without_offsets) {
    rows.push_back(t.found_row);
    finding.message = t.found_message;
  }
  if (hidden_row != none && problem != Problem::record_visible) rows.push_back(hidden_row);
  if (problem >= Problem::offsets_missing) rows.push_back(sighting.row);
  if (problem == Problem::offsets_present || problem == Problem::offsets_without_records) {
    // It was nobody else's: the others that asked for this offset were aborted.
    for (const Give& give : gives_of({scope_.lane[name.process], sighting.place, sighting.offset, 0})) {
      if (give.row < sighting.row) rows.push_back(ended_row(give.transaction));
    }
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  finding.witness = std::move(rows);
  finding.explanation = what;
}

bool TxnAtomic::offsets_audited() const {
  return std::all_of(gives_.begin(), gives_.end(), [&](const Give& give) {
    return give.transaction == no_transaction || final_.count({give.stage, give.place}) != 0;
  });
}

std::string TxnAtomic::why_undecided(Finding& finding) const {
  std::uint64_t pending = 0, unknown = 0;
  for (const Transaction& t : transactions_) {
    if (t.pending) ++pending;
    if (t.outcome() == Outcome::unknown) ++unknown;
  }
  if (pending > 0) return "records of " + counted(pending, "transaction") + " have no outcome yet";
  if (!offsets_audited()) return "the offsets that were committed in the end were not audited";
  if (finding.observed < scope_.observed_at_least)
    return too_few(finding, finding.observed, scope_.observed_at_least, "transaction");
  if (!too_uncertain(unknown, finding.population, scope_.unknown_at_most)) return "";
  return "the outcome of " + std::to_string(unknown) + " of " + counted(finding.population, "transaction") +
         " is unknown";
}

Finding TxnAtomic::finish() {
  Finding finding;
  finding.population = transactions_.size();
  for (const Transaction& t : transactions_) finding.observed += t.writes > 0 || t.gives_offsets;
  if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
    return finding;
  }
  place_untold();
  weigh_offsets();
  std::uint32_t first = no_transaction;
  for (std::uint32_t t = 0; t < transactions_.size(); ++t) {
    if (problem(t) == Problem::none) continue;
    ++finding.violations;
    if (first == no_transaction) first = t;
  }
  if (finding.violations > 0) {
    finding.verdict = Verdict::violated;
    tell(finding, first, problem(first));
    if (finding.violations > 1)
      finding.explanation += " (and " + std::to_string(finding.violations - 1) + " more)";
    return finding;
  }
  finding.explanation = why_undecided(finding);
  if (!finding.explanation.empty()) return finding;
  finding.verdict = Verdict::holds;
  finding.explanation = counted(finding.observed, "transaction") + " committed or aborted as a whole";
  return finding;
}

}  // namespace mqlab
