// What the driver needs of the live world: rows in a mapped file, anchors that stop the process, effects by a
// port.
#pragma once
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "core/seam/driver.h"
#include "live/port.h"
#include "live/worker/gate.h"
#include "platform/clock.h"
#include "platform/row_file.h"

namespace mqlab::live {

class LiveHost final : public Host {
 public:
  struct Files {
    std::string rows;
    std::string transcript;  ///< empty = none
  };
  /// Throws std::system_error.
  LiveHost(ProcessId process, Incarnation incarnation, const RunClock& clock, FaultGate& gate,
           const Files& files);

  void attach(Port* port) { port_ = port; }
  RowFile& file() { return rows_; }
  const DriverState& state() const { return driver_; }
  DriverState& state() { return driver_; }
  /// The time of the rows that follow. One step of the module takes no time, as in the simulated world: all
  /// of its rows bear the time at which it began, unless an anchor halts the process in between.
  void at(Instant now) { now_ = now; }
  /// Effects carried out and not settled, fetches not counted.
  std::int64_t open_ops() const { return open_ops_; }
  void settled(std::size_t count) { open_ops_ -= static_cast<std::int64_t>(count); }
  /// The module asked for its process to end here: nothing more is carried out.
  bool exited() const { return exited_; }
  /// Row of a client's request; on any of the client's threads.
  void request(RequestKind kind);

  // Host
  Row& row(Kind kind, Phase phase) override;
  Gate anchored(const Row& row) override;
  void carry_out(const Effect& effect) override;
  void record(const Now& now, const Event& event) override;

 private:
  ProcessId process_;
  Incarnation incarnation_;
  RunClock clock_;
  FaultGate& gate_;
  RowFile rows_;
  std::string requests_path_;
  std::mutex requests_mutex_;
  std::unique_ptr<RowFile> requests_;  ///< a file of its own: the driver may be in the middle of a batch
  Port* port_ = nullptr;
  DriverState driver_;
  Instant now_ = {};
  std::int64_t open_ops_ = 0;
  bool exited_ = false;
  std::vector<std::byte> record_;
  int transcript_ = -1;
};

}  // namespace mqlab::live
