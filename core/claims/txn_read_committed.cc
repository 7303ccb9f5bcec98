// txn.read_committed: no observer reads a record whose transaction was aborted, or one before its commit was
// asked for.
#include <map>

#include "core/claims/effects.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/transactions.h"
#include "core/claims/wording.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

class ReadCommitted final : public RowChecker<ReadCommitted> {
 public:
  explicit ReadCommitted(Scope scope)
      : scope_(std::move(scope)),
        end_(scope_),
        numbers_(scope_.processes.size()),
        open_(scope_.processes.size()),
        cells_(scope_.places.size()) {
    kinds_ = end_.kinds() | bit(Kind::publish) | bit(Kind::deliver) | bit(Kind::commit_transaction) |
             bit(Kind::audit);
  }

  void see(const Row& row, std::uint64_t index) {
    switch (row.kind) {
      case Kind::publish:
        see_publish(row, index);
        return;
      case Kind::commit_transaction:
        if (row.phase == Phase::invoke && row.transaction != 0 && scope_.sends(row.process))
          commit(row, index);
        return;
      case Kind::deliver:
        if (row.process == scope_.observer && scope_.is_in(row.place) && row.position >= 0 &&
            row.message != 0) {
          Cell& cell = cells_.at(row.place, row.position);
          if (cell.read_row == 0) {
            cell.read_row = index + 1;
            cell.message = row.message;
          }
        }
        break;
      case Kind::audit:
        if (is_record_audit(row) && scope_.is_in(row.place) && row.position >= 0 &&
            (row.flags & flag::aborted) != 0) {
          cells_.at(row.place, row.position).aborted = 1;
          aborted_.push_back({row.place, row.position, index});
        }
        break;
      default:
        break;
    }
    end_.see(row, index);
  }
  Finding finish() override;
  void reset() override;

 private:
  struct Cell {                       // one position
    std::uint64_t read_row : 44 = 0;  // plus one
    std::uint64_t aborted : 1 = 0;
    std::uint32_t transaction = 0;  // index plus one; 0 = not known, no_transaction = none
    MessageId message = 0;          // as read
  };
  struct Publish {
    std::uint64_t row = 0;  // plus one
    std::uint32_t transaction = 0;
  };
  struct Aborted {
    PlaceId place;
    std::int64_t position;
    std::uint64_t row;
  };
  struct Breach {
    std::uint64_t read_row = 0;
    PlaceId place = no_place;
    std::int64_t position = -1;
    MessageId message = 0;
    std::uint32_t transaction = no_transaction;
    bool aborted = false;
  };
  void see_publish(const Row& row, std::uint64_t index);
  void commit(const Row& row, std::uint64_t index) {
    std::uint64_t& commit = commit_row_[numbers_.of(row)];
    if (commit == 0) commit = index + 1;
  }
  bool committed_before(std::uint32_t transaction, std::uint64_t row) const {
    const std::uint64_t commit = commit_row_.get(transaction);
    return commit != 0 && commit < row;
  }
  /// For a record whose ack nobody saw: a transaction it may be of, if none that its id was published in had
  /// been asked to commit before it was read, nor was its id published outside any.
  std::optional<std::uint32_t> early(const Cell& cell) const;
  void tell(Finding& finding, const Breach& breach) const;

  Scope scope_;
  EndPhase end_;
  TransactionNumbers numbers_;
  OpenPublishes open_;
  Positions<Cell> cells_;
  Paged<std::uint64_t> commit_row_;                  // by transaction; plus one
  Paged<std::uint64_t> plain_row_;                   // by id: first publish outside any transaction; plus one
  Paged<Publish> first_;                             // by id: first publish within one
  std::multimap<MessageId, std::uint32_t> further_;  // transactions in which it was published again
  std::vector<Aborted> aborted_;
};

void ReadCommitted::see_publish(const Row& row, std::uint64_t index) {
  if (!scope_.sends(row.process) || row.message == 0) return;
  if (row.phase == Phase::invoke) {
    if (row.transaction != 0) {
      const std::uint32_t transaction = numbers_.of(row);
      open_.add(row.process, {row.op, row.incarnation, row.message, transaction, index});
      Publish& first = first_[row.message];
      if (first.row == 0) {
        first = {index + 1, transaction};
      } else if (first.transaction != transaction) {
        further_.emplace(row.message, transaction);
      }
    } else if (plain_row_[row.message] == 0) {
      plain_row_[row.message] = index + 1;
    }
    return;
  }
  const std::optional<OpenPublish> settled = open_.settle(row);
  if (row.phase != Phase::ok || !scope_.is_in(row.place) || row.position < 0) return;
  cells_.at(row.place, row.position).transaction = settled ? settled->transaction + 1 : no_transaction;
}

std::optional<std::uint32_t> ReadCommitted::early(const Cell& cell) const {
  const std::uint64_t plain = plain_row_.get(cell.message);
  const Publish first = first_.get(cell.message);
  if ((plain != 0 && plain < cell.read_row) || first.row == 0 || first.row > cell.read_row)
    return std::nullopt;
  if (committed_before(first.transaction, cell.read_row)) return std::nullopt;
  const auto [begin, end] = further_.equal_range(cell.message);
  for (auto other = begin; other != end; ++other) {
    if (committed_before(other->second, cell.read_row)) return std::nullopt;
  }
  return first.transaction;
}

Finding ReadCommitted::finish() {
  Finding finding;
  Breach first;
  cells_.for_each([&](PlaceId place, std::int64_t position, const Cell& cell) {
    if (cell.read_row == 0) return;
    ++finding.population;
    Breach breach{cell.read_row, place, position, cell.message, no_transaction, cell.aborted != 0};
    bool broken = breach.aborted;
    if (cell.transaction == 0 && !broken) {
      if (const auto transaction = early(cell)) {
        breach.transaction = *transaction;
        broken = true;
      }
    } else if (cell.transaction != 0 && cell.transaction != no_transaction) {
      breach.transaction = cell.transaction - 1;
      broken = broken || !committed_before(breach.transaction, cell.read_row);
    }
    if (broken || breach.transaction != no_transaction) ++finding.observed;
    if (!broken) return;
    ++finding.violations;
    if (first.read_row == 0 || breach.read_row < first.read_row) first = breach;
  });
  if (finding.violations > 0) {
    finding.verdict = Verdict::violated;
    tell(finding, first);
  } else if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
  } else if (finding.observed < scope_.observed_at_least) {
    finding.explanation =
        too_few(finding, finding.observed, scope_.observed_at_least, "reading of a transaction's record");
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation =
        counted(finding.observed, "record") + " of transactions read, each after its commit was asked for";
  }
  return finding;
}

void ReadCommitted::tell(Finding& finding, const Breach& breach) const {
  finding.message = breach.message;
  finding.witness = {breach.read_row - 1};
  std::string what = scope_.as + " read id " + std::to_string(breach.message) + " at " +
                     scope_.at(breach.place, breach.position);
  if (breach.aborted) {
    for (const Aborted& aborted : aborted_) {
      if (aborted.place == breach.place && aborted.position == breach.position) {
        finding.witness.push_back(aborted.row);
        break;
      }
    }
    what += ", a record of an aborted transaction";
  } else {
    const TransactionNumbers::Name& name = numbers_.name(breach.transaction);
    const std::uint64_t commit = commit_row_.get(breach.transaction);
    if (commit != 0) finding.witness.push_back(commit - 1);
    what += commit != 0
                ? " before " + scope_.name_of_process(name.process) + " asked to commit transaction "
                : ", but " + scope_.name_of_process(name.process) + " never asked to commit transaction ";
    what += std::to_string(name.number);
  }
  std::sort(finding.witness.begin(), finding.witness.end());
  if (finding.violations > 1) what += " (and " + std::to_string(finding.violations - 1) + " more)";
  finding.explanation = what;
}

void ReadCommitted::reset() {
  index_ = 0;
  end_.reset();
  numbers_.reset();
  open_.reset();
  cells_.reset();
  commit_row_.reset();
  plain_row_.reset();
  first_.reset();
  further_.clear();
  aborted_.clear();
}

}  // namespace

std::unique_ptr<Checker> make_txn_read_committed(const ClaimSpec& claim, const Scenario& scenario,
                                                 const Topology& topology) {
  const Parameters parameters(claim, scenario, {});
  ClaimSpec of_observer = claim;
  if (claim.as.empty()) {
    std::vector<std::string> names;
    for (const ObserverSpec& observer : scenario.observers) names.push_back(observer.name);
    if (names.size() != 1) {
      parameters.fail("as", names.empty() ? "is needed, but the scenario has no [[observers]]"
                                          : "which observer? there are " + joined(names));
    }
    of_observer.as = names.front();
  }
  return std::make_unique<ReadCommitted>(resolve_topic_scope(of_observer, scenario, topology, parameters));
}

}  // namespace mqlab
