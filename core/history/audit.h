// How audit rows are told apart; docs/history.md has the page.
#pragma once
#include "core/history/row.h"

namespace mqlab {

/// `op` of an audit row that gives a consumer group's committed offset instead of a record.
inline constexpr OpId offset_audit = 1;

inline bool is_offset_audit(const Row& row) { return row.kind == Kind::audit && row.op == offset_audit; }
inline bool is_record_audit(const Row& row) { return row.kind == Kind::audit && row.op != offset_audit; }

}  // namespace mqlab
