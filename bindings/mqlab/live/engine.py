"""What the lab does to a live run: workers' lives, the faults in their order, and the rows that tell of them."""

from __future__ import annotations

import heapq
import queue
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mqlab import _core
from mqlab.errors import BrokerError
from mqlab.live.cluster import Cluster
from mqlab.live.growth import Growth
from mqlab.live.processes import Child, wait_until
from mqlab.live.proxy import Rule
from mqlab.live.row_files import ControlPage, RowFile, Rows, open_ops
from mqlab.live.surroundings import DISK_ACTIONS, FOR_GOOD, REQUEST_ACTIONS

KIND = {name: number for number, name in enumerate(_core.KINDS)}
PHASE = {name: number for number, name in enumerate(_core.PHASES)}
EXIT_BY_APPLICATION = 10  # live/worker/run.h


@dataclass
class Life:
    """One incarnation of a worker."""

    process: int
    name: str
    role: str
    incarnation: int
    child: Child
    rows: RowFile
    files: list[RowFile]  # with that of client requests, where there is one
    killed: bool = False  # by the lab
    expected_to_stop: bool = False  # SIGTERM was sent
    ended: bool = False
    paused: bool = False

    def all_rows(self) -> list[Rows]:
        return [file.all_rows() for file in self.files if file.header() is not None]


class Clock:
    """The run's clock: the same origin as the workers'."""

    def __init__(self) -> None:
        self.epoch_ns, self.wall_epoch_ns = time.monotonic_ns(), time.time_ns()

    def now(self) -> int:
        return time.monotonic_ns() - self.epoch_ns


class Engine:
    """Owns the workers of one run. Everything happens in turn(): call it often from one thread."""

    def __init__(
        self, described: dict[str, Any], cluster: Cluster, control: ControlPage, clock: Clock,
        start_worker: Any, ask_broker: Callable[[str], dict[str, Any]],
    ) -> None:  # fmt: skip
        self.processes: list[dict[str, Any]] = described["processes"]
        self._supervisor_delay: int = described["supervisor_delay"]
        self.faults: list[dict[str, Any]] = described["faults"]
        self.cluster, self.control, self.clock = cluster, control, clock
        self._start_worker, self._ask_broker = start_worker, ask_broker
        self._growth = Growth(described["topics"], ask_broker)
        self.lives: list[Life] = []  # of every incarnation, in order of start
        self.current: dict[int, Life] = {}  # process → its latest life
        self.rows: list[Rows] = []  # the controller's own
        self.problems: list[str] = []
        self.carried_out: list[int] = []  # faults that fired, in order
        self.active = 0  # faults not healed yet
        self.last_strike = 0  # when a fault or heal last happened, ns
        self.begin_ns: int | None = None  # when the workload begins
        self._happened: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._timers: list[tuple[int, int, Any]] = []
        self._order = 0
        self._retired: set[int] = set()  # processes that were stopped for good
        self._told: set[int] = set()  # broker nodes whose own end is in the rows
        self._intercept(0)

    # ---- rows ----

    def row(self, process: int, kind: str, phase: str = "ok", *, incarnation: int = 0, **values: int) -> None:
        row = np.zeros(1, _core.ROW)
        row["time"], row["process"], row["incarnation"] = self.clock.now(), process, incarnation
        row["kind"], row["phase"], row["position"], row["place"] = (
            KIND[kind],
            PHASE[phase],
            -1,
            _core.NO_PLACE,
        )
        for name, value in values.items():
            row[name] = value
        self.rows.append(row)

    # ---- workers ----

    def start(self, process: int) -> Life:
        before = self.current.get(process)
        incarnation = 0 if before is None else before.incarnation + 1
        life: Life = self._start_worker(process, incarnation, self._watch)
        self.lives.append(life)
        self.current[process] = life
        return life

    def _watch(self, child: Child, what: str, status: int) -> None:
        self._happened.put(lambda: self._react(child, what, status))

    def _life_of(self, child: Child) -> Life | None:
        return next((life for life in self.lives if life.child is child), None)

    def kill(self, life: Life) -> None:
        life.killed = True
        life.child.kill()
        self._died(life)

    def _died(self, life: Life) -> None:
        """The process is gone: its open ops end as unknown."""
        if life.ended:
            return
        life.ended = True
        self.row(life.process, "stop", "fail", incarnation=life.incarnation)
        for op in open_ops(life.rows.all_rows()):
            self.row(
                life.process, _core.KINDS[op["kind"]], "unknown", incarnation=life.incarnation,
                op=op["op"], message=op["message"], transaction=op["transaction"],
            )  # fmt: skip

    # ---- the order of things ----

    def after(self, nanoseconds: int, action: Any) -> None:
        self._order += 1
        heapq.heappush(self._timers, (self.clock.now() + nanoseconds, self._order, action))

    def begin(self, at_ns: int) -> None:
        """The workload begins then: timed faults count from there."""
        self.begin_ns = at_ns
        self.control.begin(at_ns)
        self._time(self.control.armed)

    def _arm(self, number: int) -> None:
        self.control.arm(number)
        self._intercept(number)
        self._time(number)

    def _intercept(self, number: int) -> None:
        """A fault that happens to one request is the proxy's: it counts, acts at once, and tells."""
        if self.cluster.proxies is None:
            return
        fault = self.faults[number] if number < len(self.faults) else None
        if fault is None or fault["action"] not in REQUEST_ACTIONS:
            self.cluster.proxies.arm(None)
            return
        numbers = {self.processes[process]["name"]: process for process in fault["anchored"]}

        def matched(owner: str) -> None:
            self._happened.put(lambda: self._carry_out(number, self.current.get(numbers[owner])))

        self.cluster.proxies.arm(
            Rule(
                kind=str(fault["step"]).removeprefix("request."), owners=frozenset(numbers), nth=fault["nth"],
                action=fault["action"], delay=fault["heal"] / 1e9, matched=matched,
            )
        )  # fmt: skip

    def _time(self, number: int) -> None:
        """Sets the clock for a fault that waits for a time, once the workload's begin is known."""
        if self.begin_ns is None or number >= len(self.faults) or not self.faults[number]["timed"]:
            return
        due = self.begin_ns + self.faults[number]["time"] - self.clock.now()
        self.after(max(due, 0), lambda: self._carry_out(number, None))

    @property
    def waits_for_time(self) -> bool:
        """A heal, a restart, or a timed fault is still to come."""
        return bool(self._timers)

    def turn(self, seconds: float) -> None:
        """Waits at most so long for something to happen, and does what is due. Raises BrokerError."""
        wait = seconds
        if self._timers:
            wait = min(wait, max(0.0, (self._timers[0][0] - self.clock.now()) / 1e9))
        try:
            happened = self._happened.get(timeout=wait) if wait > 0 else self._happened.get_nowait()
        except queue.Empty:
            pass
        else:
            happened()
        while self._timers and self._timers[0][0] <= self.clock.now():
            heapq.heappop(self._timers)[2]()
        self.cluster.check()
        for node in self.cluster.ended_itself():
            if node not in self._told:
                self._told.add(node)
                self.row(self._broker_process(node), "stop", "fail")

    def _react(self, child: Child, what: str, status: int) -> None:
        life = self._life_of(child)
        if life is None or life.ended:
            return
        if what == "exited":
            self._exited(life, status)
        elif not life.paused:
            self._halted(life)

    def _halted(self, life: Life) -> None:
        """A worker stopped itself at an anchor, or somebody else stopped it: then it is none of the lab's doing."""
        for file in life.files:
            header = file.header()
            if header is not None and header.halted > 0:
                self._carry_out(header.halted - 1, life)
                return

    def _exited(self, life: Life, status: int) -> None:
        self._died(life)
        if life.expected_to_stop and status == 0:
            return
        if status == EXIT_BY_APPLICATION:
            self.after(self._supervisor_delay, lambda: self._revive(life))
            return
        wait_until(self.cluster.lost_one, 0.3)  # a node that ended is the better reason
        self.cluster.check()
        header = life.rows.header()
        reason = header.reason if header is not None and header.reason else life.child.last_lines(2)
        raise BrokerError(f"{life.name} ended (exit {status}): {reason}")

    def _revive(self, life: Life) -> None:
        """The supervisor starts an application that ended itself, unless a heal came before."""
        if self.current[life.process] is life and life.process not in self._retired:
            self.start(life.process)

    # ---- faults ----

    def _carry_out(self, number: int, halted: Life | None) -> None:
        fault = self.faults[number]
        targets = self._targets(fault, halted)
        if not targets:
            self.problems.append(f"fault {number + 1}: nobody there to hit")
        place = self._growth.first_new_place(fault["grown"])
        for target in targets:
            self.row(target, "fault", aux=fault["action_number"], code=number, position=fault["heal"],
                     incarnation=self._incarnation(target), place=place)  # fmt: skip
            self._strike(fault, target)
            if fault["action"] in FOR_GOOD:
                continue
            self.active += 1
            self.after(fault["heal"], lambda target=target: self._heal(number, target))
        if targets:
            self.carried_out.append(number)
        self.last_strike = self.clock.now()
        self._arm(number + 1)
        if halted is not None and not halted.paused:
            halted.child.signal(signal.SIGCONT)

    def _targets(self, fault: dict[str, Any], halted: Life | None) -> list[int]:
        if fault["leader_of"] is not None:
            wait_until(lambda: self._leader(fault["leader_of"]) > 0, 1.0, 0.1)  # between two leaders
            node = self._leader(fault["leader_of"])
            return [self._broker_process(node)] if node > 0 else []
        if not fault["targets"]:
            return [] if halted is None else [halted.process]
        return [target for target in fault["targets"] if self._may_hit(fault, target)]

    def _leader(self, place: int) -> int:
        return int(self._ask_broker(f"leader {place}").get("leader", 0))

    def _may_hit(self, fault: dict[str, Any], target: int) -> bool:
        """A spare begins once, and nothing else befalls it before. A stage keeps one instance. A topic grows once."""
        action = fault["action"]
        if fault["grown"] is not None:
            return self._growth.may(fault["grown"])
        if self._begun(target) == (action == "scale_out"):
            return False
        if action != "scale_in":
            return True
        mine = self.processes[target]["group"]
        stay = {number for number in range(len(self.processes)) if self._begun(number)} - self._retired - {target}
        return any(self.processes[number]["group"] == mine for number in stay)

    def _begun(self, process: int) -> bool:
        return not self.processes[process]["spare"] or process in self.current

    def _broker_process(self, node: int) -> int:
        return next(
            number for number, process in enumerate(self.processes)
            if process["role"] == "broker" and process["instance"] == node - 1
        )  # fmt: skip

    def _incarnation(self, process: int) -> int:
        life = self.current.get(process)
        return 0 if life is None else life.incarnation

    def _strike(self, fault: dict[str, Any], target: int) -> None:
        action = fault["action"]
        if action == "partition":
            self._cut(fault, target, lost=True)
        elif action in REQUEST_ACTIONS:
            return  # the proxy has done it
        elif action == "add_partitions":
            self.problems += filter(None, [self._growth.grow(fault["grown"])])
        elif self.processes[target]["role"] == "broker":
            self._strike_broker(action, target)
        else:
            self._strike_worker(action, target)

    def _strike_broker(self, action: str, target: int) -> None:
        node, cluster = self.processes[target]["instance"] + 1, self.cluster
        strikes = {
            "kill": cluster.kill, "power_loss": cluster.power_loss, "restart": cluster.terminate,
            "pause": cluster.pause, "disk_full": cluster.disk_full, "fsync_error": cluster.fail_syncs,
        }  # fmt: skip
        strikes[action](node)
        if action in ("kill", "power_loss"):
            self.row(target, "stop", "fail")

    def _strike_worker(self, action: str, target: int) -> None:
        if action == "scale_out":
            self.start(target)
            return
        if action == "scale_in":
            self._retired.add(target)
        life = self.current.get(target)
        if life is None or life.ended:
            return
        if action in ("kill", "power_loss"):
            self.kill(life)
        elif action == "pause":
            life.paused = True
            life.child.signal(signal.SIGSTOP)
        else:
            life.expected_to_stop = True
            life.child.signal(signal.SIGTERM)
            life.child.signal(signal.SIGCONT)  # it may be halted at the anchor itself

    def _cut(self, fault: dict[str, Any], target: int, *, lost: bool) -> None:
        """Both directions between the sides; without sides, between the target and every broker node but itself."""
        brokers = [number for number, process in enumerate(self.processes) if process["role"] == "broker"]
        for a in fault["side_a"] or [target]:
            for b in fault["side_b"] or brokers:
                if a != b:
                    self.cluster.cut(self._member(a), self._member(b), lost=lost)
                    self.cluster.cut(self._member(b), self._member(a), lost=lost)

    def _member(self, process: int) -> int:
        info = self.processes[process]
        return info["instance"] + 1 if info["role"] == "broker" else self.cluster.member_of_worker(process)

    def _heal(self, number: int, target: int) -> None:
        fault = self.faults[number]
        action = fault["action"]
        self.active -= 1
        self.last_strike = self.clock.now()
        self.row(target, "heal", aux=fault["action_number"], code=number, incarnation=self._incarnation(target))
        if action == "partition":
            self._cut(fault, target, lost=False)
        elif action in REQUEST_ACTIONS:
            return
        elif self.processes[target]["role"] == "broker":
            node = self.processes[target]["instance"] + 1
            heals = {"pause": self.cluster.resume, **dict.fromkeys(DISK_ACTIONS, self.cluster.heal_disk)}
            if action in DISK_ACTIONS and self.cluster.restarts_for_disk:
                self.row(target, "stop", "fail")
            self._told.discard(node)
            heals.get(action, self.cluster.bring_back)(node)
        else:
            self._heal_worker(action, target)

    def _heal_worker(self, action: str, target: int) -> None:
        life = self.current[target]
        if action == "pause":
            life.paused = False
            life.child.signal(signal.SIGCONT)
            return
        if not life.ended:  # restart: it did not stop in time
            self.kill(life)
        if target not in self._retired:
            self.start(target)

    def stop_everything(self) -> None:
        """Ends every worker, without a row: the run is over."""
        for life in self.lives:
            life.child.kill()


def worker_files(folder: Path, name: str, incarnation: int) -> tuple[Path, Path, Path]:
    """Rows, client requests, log of one incarnation."""
    rows = folder / f"{name}.{incarnation}.rows"
    return rows, rows.with_name(rows.name + ".requests"), folder / f"{name}.{incarnation}.log"
