#include "search/story.h"

#include <algorithm>
#include <set>

#include "core/faults/anchor.h"
#include "core/scenario/units.h"

namespace mqlab::search {
namespace {

constexpr std::size_t sentences_at_most = 24;

class Teller {
 public:
  Teller(const sim::Setup& setup, const History& history, const Finding& finding)
      : topology_(setup.topology), history_(history), finding_(finding) {
    if (finding.message != 0) messages_.insert(finding.message);
    for (const std::uint64_t i : finding.witness) {
      if (i < history.size() && history[i].message != 0) messages_.insert(history[i].message);
    }
  }

  void run(Counterexample& into) {
    for (std::size_t i = 0; i < history_.size(); ++i) {
      const Row& row = history_[i];
      const bool proof = std::binary_search(finding_.witness.begin(), finding_.witness.end(), i);
      std::string sentence = row.kind == Kind::audit && !proof ? "" : tell(row);
      if (sentence.empty()) continue;
      if (proof) sentence += "   ← here";
      if (into.story.size() == sentences_at_most) {
        into.story.back() = "…";
        break;
      }
      into.story.push_back(std::move(sentence));
      into.story_lanes.push_back(topology_.processes[row.process].name);
    }
  }

 private:
  bool concerned(const Row& row) const { return messages_.contains(row.message); }
  std::string place(const Row& row) const {
    const std::string name = row.place == no_place ? "?" : topology_.places[row.place].name;
    return row.position < 0 ? name : name + "@" + std::to_string(row.position);
  }
  static std::string message(const Row& row) {
    const std::string id = "m" + std::to_string(row.message);
    if (row.key == 0) return id;
    const bool tombstone = (row.flags & flag::tombstone) != 0;
    return id + " (" + (tombstone ? "the end of " : "") + "key k" + std::to_string(row.key) + ")";
  }

  std::string tell(const Row& row) {
    switch (row.kind) {
      case Kind::fault:
        return std::string(done_to(static_cast<Action>(row.aux))) + duration(row) + to_topic(row);
      case Kind::heal:
        return std::string(after(static_cast<Action>(row.aux)));
      case Kind::commit:
      case Kind::commit_transaction:
      case Kind::abort_transaction:
        return ended(row);
      case Kind::revoking:
        return row.flags & flag::header ? std::string("loses partitions in a rebalance") : "";
      default:
        break;
    }
    return concerned(row) ? about_message(row) : "";
  }

  std::string about_message(const Row& row) {
    switch (row.kind) {
      case Kind::publish:
        if (row.phase == Phase::ok)
          return "stores " + message(row) + " → " + place(row) +
                 (row.flags & flag::duplicate ? " (recognised as a repeat)" : "");
        if (row.phase == Phase::invoke) return "sends " + message(row);
        return "hears nothing certain of " + message(row);
      case Kind::deliver:
        return "is given " + message(row) + " from " + place(row) +
               (row.attempt > 1 ? ", attempt " + std::to_string(row.attempt) : "");
      case Kind::handle:
        return "starts on " + message(row);
      case Kind::complete:
        return (row.phase == Phase::ok ? "is done with " : "fails on ") + message(row);
      case Kind::ack:
        return "";
      case Kind::store_write:
        return "writes " + message(row) + " to the store";
      case Kind::audit:
        return "finds " + message(row) + " in " + place(row) +
               (row.flags & flag::aborted ? " (aborted)" : "");
      default:
        return "";
    }
  }

  std::string ended(const Row& row) const {
    const bool relevant = row.op != 0 && !(row.flags & flag::header);
    if (!relevant) return "";
    const std::string what = row.kind == Kind::commit               ? "commit"
                             : row.kind == Kind::commit_transaction ? "transaction commit"
                                                                    : "transaction abort";
    switch (row.phase) {
      case Phase::invoke:
        return row.kind == Kind::commit ? "commits " + place(row) : "asks for the " + what;
      case Phase::ok:
        return "the " + what + " is done";
      case Phase::fail:
        return "the " + what + " is refused";
      case Phase::unknown:
        return "the outcome of the " + what + " stays open";
    }
    return "";
  }

  std::string to_topic(const Row& row) const {
    if (row.place == no_place || static_cast<Action>(row.aux) != Action::add_partitions) return "";
    return " to " + topology_.topics[topology_.places[row.place].topic].name;
  }
  static std::string duration(const Row& row) {
    return row.position > 0 ? " for " + format_duration(Duration{row.position}) : "";
  }
  static std::string_view done_to(Action action) {
    switch (action) {
      case Action::kill:
        return "IS KILLED";
      case Action::restart:
        return "IS RESTARTED";
      case Action::pause:
        return "IS PAUSED";
      case Action::power_loss:
        return "LOSES POWER";
      case Action::partition:
        return "IS CUT OFF";
      case Action::delay:
        return "HAS ITS REQUEST HELD BACK";
      case Action::drop_response:
        return "LOSES THE ANSWER TO ITS REQUEST";
      case Action::reset:
        return "HAS ITS CONNECTION BROKEN, ITS REQUEST BEING SENT";
      case Action::disk_full:
        return "HAS A FULL DISK";
      case Action::fsync_error:
        return "CANNOT SYNC ITS DISK";
      case Action::clock_jump:
        return "HAS ITS CLOCK MOVED";
      case Action::scale_out:
        return "BEGINS, A FURTHER INSTANCE";
      case Action::scale_in:
        return "IS TO STOP FOR GOOD";
      case Action::add_partitions:
        return "ADDS PARTITIONS";
    }
    return "";
  }
  static std::string_view after(Action action) {
    switch (action) {
      case Action::kill:
      case Action::power_loss:
      case Action::restart:
        return "is back";
      case Action::pause:
        return "goes on";
      case Action::partition:
        return "is connected again";
      case Action::disk_full:
        return "has room again";
      case Action::fsync_error:
        return "can sync again";
      default:
        return "";
    }
  }

  const Topology& topology_;
  const History& history_;
  const Finding& finding_;
  std::set<MessageId> messages_;
};

}  // namespace

void tell(const sim::Setup& setup, const History& history, const Finding& finding, Counterexample& into) {
  into.story.clear();
  into.story_lanes.clear();
  Teller(setup, history, finding).run(into);
}

}  // namespace mqlab::search
