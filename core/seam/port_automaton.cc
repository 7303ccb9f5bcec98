#include "core/seam/port_automaton.h"

namespace mqlab {
namespace {

/// Effects that carry an op and come to an end.
bool has_op(Kind kind) {
  return (kind >= Kind::publish && kind <= Kind::list_pending) || kind == Kind::accept ||
         kind == Kind::release || (kind >= Kind::store_read && kind <= Kind::reply);
}

/// Rows that a process's port writes; the lab's, the brokers' and the client libraries' are not its.
bool of_port(Kind kind) { return kind <= Kind::reply; }

std::string op_text(const Row& row) {
  return std::string(name_of(row.kind)) + " (op " + std::to_string(row.op) + ")";
}

}  // namespace

PortAutomaton::PortAutomaton(std::vector<std::string> processes, std::vector<std::string> places)
    : processes_(std::move(processes)), places_(std::move(places)), state_(processes_.size()) {}

std::string PortAutomaton::place(const Row& row) const {
  return row.place < places_.size() ? places_[row.place] : "a place without name";
}

bool PortAutomaton::accept(const Row& row) {
  if (breach_) return false;
  const std::string problem = judge(row);
  if (!problem.empty()) {
    const std::string who = row.process < processes_.size() ? processes_[row.process] : "nobody";
    breach_ = {index_, who + " " + problem};
  }
  ++index_;
  return !breach_;
}

std::string PortAutomaton::judge(const Row& row) {
  if (!of_port(row.kind)) return "";
  if (row.process >= state_.size()) return "is no process of the scenario";
  Process& p = state_[row.process];
  if (row.kind == Kind::start || row.kind == Kind::stop) return judge_life(p, row);
  if (!p.started) return "wrote a " + std::string(name_of(row.kind)) + " before it started";
  if (row.incarnation != p.incarnation) {
    return "wrote a row of incarnation " + std::to_string(row.incarnation) + " while " +
           std::to_string(p.incarnation) + " lives";
  }
  if (p.ended && (row.phase != Phase::unknown || !has_op(row.kind))) {
    return "wrote a " + std::string(name_of(row.kind)) + " after its end";
  }
  if (row.kind == Kind::deliver) return judge_deliver(p, row);
  if (p.batch_left > 0 && !p.ended)
    return "was promised " + std::to_string(p.batch_left) + " more records in its batch";
  if (row.kind == Kind::assigned || row.kind == Kind::revoking) return judge_holding(p, row);
  if (!has_op(row.kind)) return "";
  return row.phase == Phase::invoke ? judge_invoke(p, row) : judge_settle(p, row);
}

std::string PortAutomaton::judge_life(Process& p, const Row& row) {
  if (row.kind == Kind::start) {
    if (p.started && !p.ended) return "started while it was running";
    if (p.started && row.incarnation <= p.incarnation)
      return "started again as incarnation " + std::to_string(row.incarnation);
    const bool in_group = p.in_group;
    p = {};
    p.in_group = in_group;
    p.started = true;
    p.incarnation = row.incarnation;
    return "";
  }
  if (!p.started || row.incarnation != p.incarnation) return "stopped without running";
  if (row.phase == Phase::ok)
    return p.ended ? "was asked to stop after its end" : "";  // it goes on until it is done
  if (p.ended) return "ended twice";
  p.ended = true;
  p.batch_left = 0;
  return "";
}

std::string PortAutomaton::judge_invoke(Process& p, const Row& row) {
  const bool header = (row.flags & flag::header) != 0;
  const bool member = p.members_left > 0 && !header && row.op == p.last_op;
  if (member) {
    --p.members_left;
  } else {
    if (row.op == 0) return "asked for a " + std::string(name_of(row.kind)) + " without an op";
    if (row.op <= p.last_op) return "used an op twice: " + op_text(row);
    p.open[row.op] = row.kind;
    p.last_op = row.op;
    p.members_left = header ? row.aux : 0;
  }
  return row.kind == Kind::accept || row.kind == Kind::release ? judge_holding(p, row) : "";
}

std::string PortAutomaton::judge_settle(Process& p, const Row& row) {
  const auto open = p.open.find(row.op);
  if (open == p.open.end()) {
    return row.op != 0 && row.op <= p.last_op ? "saw " + op_text(row) + " settle twice"
                                              : "saw " + op_text(row) + " settle, which it never asked for";
  }
  if (open->second != row.kind)
    return "saw " + op_text(row) + " settle, but that op is a " + std::string(name_of(open->second));
  p.open.erase(open);
  if (row.kind == Kind::fetch && row.phase == Phase::ok && (row.flags & flag::header) != 0) {
    p.batch = row.op;
    p.batch_left = row.aux;
  }
  return "";
}

std::string PortAutomaton::judge_deliver(Process& p, const Row& row) {
  if (p.batch_left <= 0 || row.op != p.batch) return "was given a record that no batch announced";
  --p.batch_left;
  if (!p.in_group) return "";
  const auto holding = p.places.find(row.place);
  const bool held =
      holding != p.places.end() && (holding->second == Holding::held || holding->second == Holding::revoking);
  return held ? "" : "was given a record of " + place(row) + ", which it does not hold";
}

std::string PortAutomaton::judge_holding(Process& p, const Row& row) {
  if (row.place == no_place) return "";  // the header of the batch
  Holding& holding = p.places[row.place];
  switch (row.kind) {
    case Kind::assigned:
      if (holding != Holding::none) return "was assigned " + place(row) + " twice";
      holding = Holding::assigned;
      return "";
    case Kind::accept:
      if (holding != Holding::assigned) return "accepted " + place(row) + ", which it was not assigned";
      holding = Holding::held;
      return "";
    case Kind::revoking:
      if (holding == Holding::none || holding == Holding::revoking)
        return "was to give up " + place(row) + ", which it did not have";
      holding = Holding::revoking;
      return "";
    default:  // release
      if (holding != Holding::revoking) return "released " + place(row) + ", which nobody asked for";
      holding = Holding::none;
      return "";
  }
}

std::optional<PortBreach> check_ports(const History& history, const std::vector<std::string>& processes,
                                      const std::vector<std::string>& places) {
  PortAutomaton automaton(processes, places);
  history.for_each(0, [&](std::span<const Row> rows) {
    for (const Row& row : rows) {
      if (row.kind == Kind::assigned && row.process < processes.size())
        automaton.takes_assignments(row.process);
    }
  });
  history.for_each(0, [&](std::span<const Row> rows) {
    for (const Row& row : rows) automaton.accept(row);
  });
  return automaton.breach();
}

}  // namespace mqlab
