// What every port must keep to, simulated or live, told from the rows of a history alone:
// each op settles at most once, and only if it was invoked; a batch has as many records as it announces;
// partitions are assigned and revoked in turn, and nothing is delivered from one that is not held (accepted
// and not released); an incarnation does nothing after its end, but that its open ops become unknown.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/history/history.h"

namespace mqlab {

struct PortBreach {
  std::size_t row = 0;  ///< index of the first row that breaks a rule
  std::string what;     ///< one sentence
};

class PortAutomaton {
 public:
  /// Names by number, for the sentence.
  PortAutomaton(std::vector<std::string> processes, std::vector<std::string> places);

  /// Takes the next row; false once a rule is broken.
  bool accept(const Row& row);
  const std::optional<PortBreach>& breach() const { return breach_; }
  /// Delivery is judged by holding for this process: it takes part in a group. To be told before its first
  /// row.
  void takes_assignments(ProcessId process) { state_[process].in_group = true; }

 private:
  enum class Holding : std::uint8_t { none, assigned, held, revoking };
  struct Process {
    bool in_group = false;
    bool started = false, ended = false;
    Incarnation incarnation = 0;
    std::map<OpId, Kind> open;      // ops that have not settled
    OpId last_op = 0;               // of the latest invoke
    std::int64_t members_left = 0;  // of the batch that the latest invoke began
    OpId batch = 0;                 // fetch whose records follow
    std::int64_t batch_left = 0;
    std::map<PlaceId, Holding> places;  // absent = none
  };

  std::string judge(const Row& row);
  std::string judge_life(Process& p, const Row& row);
  std::string judge_invoke(Process& p, const Row& row);
  std::string judge_settle(Process& p, const Row& row);
  std::string judge_deliver(Process& p, const Row& row);
  std::string judge_holding(Process& p, const Row& row);
  std::string place(const Row& row) const;

  std::vector<std::string> processes_, places_;
  std::vector<Process> state_;
  std::size_t index_ = 0;
  std::optional<PortBreach> breach_;
};

/// The first row of a whole history that no correct port could have written; empty when there is none.
std::optional<PortBreach> check_ports(const History& history, const std::vector<std::string>& processes,
                                      const std::vector<std::string>& places);

}  // namespace mqlab
