#include "core/history/row.h"

#include <array>

namespace mqlab {
namespace {
constexpr std::array<std::string_view, static_cast<std::size_t>(Kind::count_)> kind_names = {
    "start",
    "stop",
    "up",
    "down",
    "blocked",
    "unblocked",
    "invoke",
    "deliver",
    "handle",
    "complete",
    "publish",
    "fetch",
    "ack",
    "nack",
    "progress",
    "terminate",
    "commit",
    "begin",
    "offsets_to_transaction",
    "commit_transaction",
    "abort_transaction",
    "seek",
    "pause",
    "resume",
    "flush",
    "leave",
    "claim",
    "list_pending",
    "assigned",
    "accept",
    "revoking",
    "release",
    "store_read",
    "store_write",
    "call",
    "reply",
    "fault",
    "heal",
    "quiet",
    "audit",
    "audit_end",
    "request",
    "append",
    "high_watermark",
    "marker",
    "truncate",
    "elect",
    "usage"};
static_assert(kind_names.back() == "usage");
constexpr std::array<std::string_view, 4> phase_names = {"invoke", "ok", "fail", "unknown"};
}  // namespace

std::string_view name_of(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }
std::string_view name_of(Phase phase) { return phase_names[static_cast<std::size_t>(phase)]; }

}  // namespace mqlab
