// What the worker does for the lab itself rather than for a process of the scenario.
#pragma once
#include "live/worker/options.h"

namespace mqlab::live {

/// --describe: prints the scenario by number (processes, topics, places, faults) as JSON.
int describe(const Options& options);
/// --setup: makes topics or streams and does a real round trip; 0 = ready.
int set_up(const Options& options);
/// --remove: deletes what --setup made.
int remove(const Options& options);
/// --probe: answers questions, one a line, with a line of JSON each, until its input ends: "setup", "state",
/// "leader PLACE", "audit" (into --rows).
int probe(const Options& options);
/// --process auditor: writes audit and audit_end rows for all places.
int audit(const Options& options);

}  // namespace mqlab::live
