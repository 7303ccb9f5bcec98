// What `digest` of an audit_end row says; docs/history.md has the page.
#pragma once
#include <cstdint>

namespace mqlab {

/// Where the place began when it was audited, what lay before having been removed; plus one. 0 = not told.
inline std::uint64_t audited_from(std::int64_t start) { return static_cast<std::uint64_t>(start + 1); }

}  // namespace mqlab
