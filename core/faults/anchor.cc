#include "core/faults/anchor.h"

#include <algorithm>
#include <array>

namespace mqlab {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(RequestKind::count_)> request_names = {
    "none",
    "produce",
    "fetch",
    "join_group",
    "sync_group",
    "heartbeat",
    "leave_group",
    "offset_commit",
    "offset_fetch",
    "find_coordinator",
    "init_producer_id",
    "add_partitions_to_txn",
    "add_offsets_to_txn",
    "end_txn",
    "txn_offset_commit",
    "publish",
    "pull",
    "ack",
    "metadata",
    "list_offsets",
    "offset_for_leader_epoch"};
static_assert(request_names.back() == "offset_for_leader_epoch");

/// How rows of a kind come about, which decides the names of their steps.
enum class Nature : std::uint8_t {
  event,     ///< one row, phase ok: the name alone
  effect,    ///< invoke: the name alone; its ends: name.ok, name.fail, name.unknown
  request,   ///< request.NAME
  internal,  ///< of a broker: the name alone; only a model can stop there
  none,      ///< the lab's own rows: nothing of the system happens there
};

Nature nature_of(Kind kind) {
  switch (kind) {
    case Kind::start:
    case Kind::stop:
    case Kind::up:
    case Kind::down:
    case Kind::blocked:
    case Kind::unblocked:
    case Kind::invoke:
    case Kind::deliver:
    case Kind::handle:
    case Kind::complete:
    case Kind::assigned:
    case Kind::revoking:
      return Nature::event;
    case Kind::fault:
    case Kind::heal:
    case Kind::quiet:
    case Kind::audit:
    case Kind::audit_end:
    case Kind::usage:
    case Kind::count_:
      return Nature::none;
    case Kind::request:
      return Nature::request;
    case Kind::append:
    case Kind::high_watermark:
    case Kind::marker:
    case Kind::truncate:
    case Kind::elect:
      return Nature::internal;
    default:
      return Nature::effect;
  }
}

/// Does the kind come as a header with members behind it, in this phase? (docs/history.md)
bool batched(Kind kind, Phase phase) {
  if (kind == Kind::assigned || kind == Kind::revoking) return true;
  if (phase != Phase::invoke) return false;
  switch (kind) {
    case Kind::commit:
    case Kind::offsets_to_transaction:
    case Kind::accept:
    case Kind::release:
    case Kind::seek:
    case Kind::pause:
    case Kind::resume:
    case Kind::ack:
    case Kind::nack:
    case Kind::progress:
    case Kind::terminate:
    case Kind::store_write:
      return true;
    default:
      return false;
  }
}

bool member(const Row& row) { return (row.flags & flag::header) == 0 && batched(row.kind, row.phase); }

bool phase_fits(Kind kind, Phase phase) {
  switch (nature_of(kind)) {
    case Nature::event:
      return kind == Kind::complete ? phase != Phase::invoke : phase == Phase::ok;
    case Nature::effect:
      return true;
    case Nature::request:
      return phase == Phase::invoke;
    case Nature::internal:
      return phase == Phase::ok;
    case Nature::none:
      return false;
  }
  return false;
}

std::optional<Step> parse_request(std::string_view name) {
  for (std::size_t i = 1; i < request_names.size(); ++i) {
    if (request_names[i] == name) return Step{Kind::request, Phase::invoke, static_cast<std::uint16_t>(i)};
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(RequestKind kind) { return request_names[static_cast<std::size_t>(kind)]; }

std::optional<Step> parse_step(std::string_view name) {
  constexpr std::string_view request = "request.";
  if (name.starts_with(request)) return parse_request(name.substr(request.size()));
  const std::size_t dot = name.find('.');
  for (int k = 0; k < static_cast<int>(Kind::count_); ++k) {
    const auto kind = static_cast<Kind>(k);
    const Nature nature = nature_of(kind);
    if (name_of(kind) != name.substr(0, dot) || nature == Nature::request || nature == Nature::none) continue;
    if (dot == std::string_view::npos)
      return Step{kind, nature == Nature::effect ? Phase::invoke : Phase::ok, 0};
    for (const Phase phase : {Phase::ok, Phase::fail, Phase::unknown}) {
      const bool plain = nature != Nature::effect && phase == Phase::ok;  // has the name alone
      if (name.substr(dot + 1) == name_of(phase) && !plain && phase_fits(kind, phase))
        return Step{kind, phase, 0};
    }
  }
  return std::nullopt;
}

std::string name_of(const Step& step) {
  if (step.kind == Kind::request) return "request." + std::string(request_names[step.request]);
  const bool effect = nature_of(step.kind) == Nature::effect;
  std::string name(name_of(step.kind));
  if (step.phase != (effect ? Phase::invoke : Phase::ok)) name += "." + std::string(name_of(step.phase));
  return name;
}

std::optional<Step> step_of(const Row& row) {
  if (row.kind >= Kind::count_ || !phase_fits(row.kind, row.phase) || member(row)) return std::nullopt;
  if (row.kind == Kind::request) {
    if (row.code == 0 || row.code >= request_names.size()) return std::nullopt;
    return Step{row.kind, row.phase, row.code};
  }
  return Step{row.kind, row.phase, 0};
}

bool portable(const Step& step) { return nature_of(step.kind) != Nature::internal; }

bool names_message(const Step& step) {
  switch (step.kind) {
    case Kind::invoke:
    case Kind::deliver:
    case Kind::handle:
    case Kind::complete:
    case Kind::publish:
    case Kind::reply:
      return true;
    case Kind::call:
      return step.phase == Phase::invoke;
    default:
      return false;
  }
}

bool Matcher::matches(const Fault& fault, const Row& row) {
  if (row.kind != fault.step.kind || row.phase != fault.step.phase) return false;
  if (row.kind == Kind::request && row.code != fault.step.request) return false;
  if (fault.message != 0 && row.message != fault.message) return false;
  if (member(row)) return false;
  return std::find(fault.anchored.begin(), fault.anchored.end(), row.process) != fault.anchored.end();
}

}  // namespace mqlab
