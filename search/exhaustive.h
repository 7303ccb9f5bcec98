// Every order in which the messages in flight can arrive, and every moment at which a process can fail.
//
// From the workload's begin on, each message to or from an application that is about to arrive is a moment:
// it arrives, or another that is in flight to the same process from another sender arrives in its place
// (sim/order.cc), or first one of the menu's faults happens, as long as at_most allows. Traffic among brokers
// and what is due by time are taken as they come. All of it under one seed.
#pragma once
#include <cstdint>

#include "search/verify.h"

namespace mqlab::search {

struct Exhaustive {
  Report report;
  bool complete = false;  ///< all has been seen; else the search was ended before
};

/// options.schedules and options.budget end it; a claim that breaks does not. One thread. Throws
/// ScenarioError where a module cannot be copied.
Exhaustive verify_all(const sim::Setup& setup, const Options& options, const OnProgress& progress = {});

}  // namespace mqlab::search
