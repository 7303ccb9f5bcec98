#include "core/claims/txn_atomic.h"

#include "core/claims/makers.h"

namespace mqlab {

TxnAtomic::TxnAtomic(Scope scope, const Scenario& scenario, const Topology& topology)
    : scope_(std::move(scope)),
      shared_input_(scope_.places.size()),
      end_(scope_),
      numbers_(scope_.processes.size()),
      open_(scope_.processes.size()),
      cells_(scope_.places.size()) {
  kinds_ = end_.kinds() | bit(Kind::publish) | bit(Kind::begin) | bit(Kind::commit) |
           bit(Kind::offsets_to_transaction) | bit(Kind::commit_transaction) | bit(Kind::abort_transaction) |
           bit(Kind::assigned);
  std::vector<std::uint32_t> readers(scope_.places.size());
  for (std::uint32_t i = 0; i < scenario.stages.size(); ++i) {
    const StageSpec& stage = scenario.stages[i];
    if (std::find(scope_.lanes.begin(), scope_.lanes.end(), stage.name) != scope_.lanes.end())
      stage_index_.push_back(i);
    for (const std::string& input : stage.inputs) {
      const TopicId topic = topology.topic(input);
      if (topic == no_topic) continue;
      const TopicInfo& info = topology.topics[topic];
      for (std::uint32_t p = 0; p < info.partitions; ++p) {
        if (++readers[info.first_place + p] > 1) shared_input_[info.first_place + p] = 1;
      }
    }
  }
}

void TxnAtomic::see(const Row& row, std::uint64_t index) {
  if (row.kind == Kind::audit) {
    end_.see(row, index);
    if (is_offset_audit(row)) {
      see_final_offset(row, index);
    } else if (scope_.is_in(row.place) && row.message != 0 && row.position >= 0) {
      see_record(row, index);
    }
    return;
  }
  if (row.kind == Kind::quiet || row.kind == Kind::audit_end) {
    end_.see(row, index);
    return;
  }
  if (!scope_.sends(row.process)) {
    const bool writes = row.process < scope_.writer.size() && scope_.writer[row.process] != 0;
    if (writes && row.kind == Kind::publish && row.phase == Phase::invoke)
      note_publisher(row.message, no_transaction);
    return;
  }
  switch (row.kind) {
    case Kind::publish:
      see_publish(row, index);
      break;
    case Kind::begin:
      if (row.transaction != 0) transaction(row, index);
      break;
    case Kind::commit_transaction:
    case Kind::abort_transaction:
      if (row.transaction != 0) see_outcome(row, index);
      break;
    default:
      see_offsets(row, index);
  }
}

std::uint32_t TxnAtomic::transaction(const Row& row, std::uint64_t index) {
  const std::uint32_t t = numbers_.of(row);
  if (t == transactions_.size()) transactions_.emplace_back().first_row = index;
  return t;
}

void TxnAtomic::see_publish(const Row& row, std::uint64_t index) {
  if (row.message == 0) return;
  if (row.phase == Phase::invoke) {
    const std::uint32_t t = row.transaction == 0 ? no_transaction : transaction(row, index);
    if (t != no_transaction) ++transactions_[t].writes;
    note_publisher(row.message, t == no_transaction ? no_transaction : t + 1);
    open_.add(row.process, {row.op, row.incarnation, row.message, t, index});
    return;
  }
  const std::optional<OpenPublish> settled = open_.settle(row);
  if (row.phase == Phase::unknown && settled) untold_.push_back(*settled);
  if (row.phase != Phase::ok || !scope_.is_in(row.place) || row.position < 0) return;
  const std::uint32_t t = settled ? settled->transaction : no_transaction;
  Cell& cell = cells_.at(row.place, row.position);
  const std::uint32_t owner = t == no_transaction ? no_transaction : t + 1;
  if (cell.transaction == owner && cell.message == row.message)
    return;  // a repeat that the broker recognised
  cell = {owner, row.message, index, 0};
  if (t != no_transaction) ++transactions_[t].stored;
}

void TxnAtomic::note_publisher(MessageId id, std::uint32_t publisher) {
  Publishers& publishers = publishers_[id];
  if (publishers.first == 0) publishers.first = publisher;
  if (publishers.first != publisher) publishers.several = true;
}

void TxnAtomic::see_outcome(const Row& row, std::uint64_t index) {
  Transaction& t = transactions_[transaction(row, index)];
  if (row.kind == Kind::commit_transaction) {
    if (row.phase == Phase::invoke) ++t.commits;
    if (row.phase == Phase::fail) ++t.commits_failed;
    if (row.phase == Phase::ok) t.committed = true;
  } else if (row.phase == Phase::ok) {
    t.aborted = true;
  }
  if (row.phase != Phase::invoke || t.end_row == none) t.end_row = index;
}

void TxnAtomic::see_offsets(const Row& row, std::uint64_t index) {
  const int stage = scope_.lane_of(row.process);
  if ((row.flags & flag::header) != 0 || !scope_.is_of(row.place) || row.position < 0) return;
  const auto lane = static_cast<std::int16_t>(stage);
  if (row.kind == Kind::assigned) {
    seen_.push_back({lane, row.place, row.position, index});
  } else if (row.phase == Phase::invoke) {
    std::uint32_t t = no_transaction;
    if (row.kind == Kind::offsets_to_transaction) {
      if (row.transaction == 0) return;
      t = transaction(row, index);
      transactions_[t].gives_offsets = true;
    }
    gives_.push_back({lane, row.place, row.position, index, t});
  }
}

void TxnAtomic::see_record(const Row& row, std::uint64_t index) {
  const bool open = (row.flags & flag::open) != 0;
  const bool visible = !open && (row.flags & flag::aborted) == 0;
  if (cells_.get(row.place, row.position).message != row.message) {
    if (!visible && !open) return;
    Unclaimed& unclaimed = unclaimed_[row.message];
    if (visible && unclaimed.visible++ == 0) unclaimed.row = index;
    if (open) ++unclaimed.open;
    return;
  }
  Cell& cell = cells_.at(row.place, row.position);
  if (cell.transaction == no_transaction || cell.found) return;
  Transaction& t = transactions_[cell.transaction - 1];
  if (open) ++t.open;
  if (!visible) return;
  cell.found = 1;
  if (t.found++ == 0) {
    t.found_row = index;
    t.found_message = row.message;
  }
}

void TxnAtomic::see_final_offset(const Row& row, std::uint64_t index) {
  if (!scope_.is_of(row.place)) return;
  for (std::size_t lane = 0; lane < stage_index_.size(); ++lane) {
    if (shared_input_[row.place] != 0 && row.key != stage_index_[lane]) continue;
    const Seen seen{static_cast<std::int16_t>(lane), row.place, row.position, index};
    final_[{seen.stage, seen.place}] = seen;
    if (row.position >= 0) seen_.push_back(seen);
  }
}

void TxnAtomic::reset() {
  index_ = 0;
  end_.reset();
  numbers_.reset();
  open_.reset();
  transactions_.clear();
  cells_.reset();
  publishers_.reset();
  unclaimed_.reset();
  untold_.clear();
  gives_.clear();
  seen_.clear();
  final_.clear();
}

std::unique_ptr<Checker> make_txn_atomic(const ClaimSpec& claim, const Scenario& scenario,
                                         const Topology& topology) {
  const Parameters parameters(claim, scenario, {"stage"});
  for (const auto& [key, value] : {std::pair{"of", claim.of}, {"in", claim.in}, {"as", claim.as}}) {
    if (!value.empty())
      parameters.fail(key, "has no meaning here; the claim is about whole transactions (stage = …)");
  }
  return std::make_unique<TxnAtomic>(resolve_transaction_scope(claim, scenario, topology, parameters),
                                     scenario, topology);
}

}  // namespace mqlab
