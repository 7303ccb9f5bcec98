#include "live/worker/host.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/seam/transcript.h"

namespace mqlab::live {

LiveHost::LiveHost(ProcessId process, Incarnation incarnation, const RunClock& clock, FaultGate& gate,
                   const Files& files)
    : process_(process),
      incarnation_(incarnation),
      clock_(clock),
      gate_(gate),
      rows_(files.rows, process, incarnation) {
  if (gate.wants_requests())
    requests_ = std::make_unique<RowFile>(files.rows + ".requests", process, incarnation);
  if (requests_) requests_->header().state.store(static_cast<std::uint32_t>(WorkerState::running));
  if (files.transcript.empty()) return;
  transcript_ = open(files.transcript.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (transcript_ < 0) throw std::system_error(errno, std::generic_category(), files.transcript);
}

Row& LiveHost::row(Kind kind, Phase phase) {
  Row& row = rows_.next();
  row.time = now_.ns;
  row.process = process_;
  row.incarnation = incarnation_;
  row.kind = kind;
  row.phase = phase;
  return row;
}

Gate LiveHost::anchored(const Row& row) {
  rows_.publish();
  if (gate_.test(row, rows_)) now_ = clock_.mono();
  return Gate::go;
}

void LiveHost::carry_out(const Effect& effect) {
  if (effect.kind == Kind::stop) exited_ = true;
  if (exited_) return;
  if (effect.kind != Kind::fetch) ++open_ops_;
  port_->carry_out(effect, driver_.in_transaction ? driver_.transaction : 0);
}

void LiveHost::request(RequestKind kind) {
  if (!requests_) return;
  const std::lock_guard lock(requests_mutex_);
  Row& row = requests_->next();
  row.time = clock_.mono().ns;
  row.process = process_;
  row.incarnation = incarnation_;
  row.kind = Kind::request;
  row.phase = Phase::invoke;
  row.code = static_cast<std::uint16_t>(kind);
  requests_->publish();
  gate_.test(row, *requests_);
}

void LiveHost::record(const Now& now, const Event& event) {
  if (transcript_ < 0) return;
  record_.clear();
  append_event(record_, now, event);
  // A whole record in one write: what is there after a kill is whole but for the last.
  if (write(transcript_, record_.data(), record_.size()) != static_cast<ssize_t>(record_.size())) {
    throw std::system_error(errno, std::generic_category(), "transcript");
  }
}

}  // namespace mqlab::live
