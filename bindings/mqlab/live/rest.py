"""Whether a live run has come to rest: nothing is under way and nothing more will come of itself."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mqlab import _core
from mqlab.errors import BrokerError
from mqlab.live.engine import KIND, PHASE, Engine, Life
from mqlab.live.row_files import FINISHED, RUNNING, Rows
from mqlab.live.worker import Probe

# Rows of these kinds come of themselves in an idle system, or follow from others.
_NO_ACTIVITY = [KIND[name] for name in ("fetch", "request", "progress", "flush", "up", "down", "commit")]
_OWNED_IDLE_NS = 1_500_000_000  # longer than a fetch's wait at the broker (500 ms) and its answer
_SHORT_IDLE_NS = 300_000_000


class BrokerState:
    """The broker's side, asked again and again on a thread: a question may take long while a node is away."""

    def __init__(self, probe: Probe, clock: Any) -> None:
        self.problem = ""  # it cannot be asked any more
        self.last_error = ""  # of the latest question
        self._probe, self._clock = probe, clock
        self._latest: tuple[int, dict[str, Any]] | None = None  # when it was asked, the answer
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="mqlab-probe", daemon=True)
        self._thread.start()

    def stop_asking(self) -> Probe:
        """Nothing more is asked; the probe is the caller's."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        return self._probe

    def _work(self) -> None:
        while not self._stop.is_set():
            asked = self._clock.now()
            try:
                answer = self._probe.ask("state", 60.0)
            except BrokerError as error:
                self.problem = str(error)
                return
            self.last_error = str(answer.get("error", ""))
            if not self.last_error:
                self._latest = (asked, answer)
            self._stop.wait(0.1)

    def since(self, moment_ns: int) -> dict[str, Any] | None:
        """An answer to a question asked after that moment."""
        latest = self._latest
        return latest[1] if latest is not None and latest[0] >= moment_ns else None

    def close(self) -> None:
        self._stop.set()
        self._probe.end()
        if self._thread is not None:
            self._thread.join()
        self._probe.close()


@dataclass
class _Progress:
    """What the rows of one incarnation say so far."""

    fetch_open: bool = False
    assigned: bool = False
    refused: bool = False  # its group will not have it: it waits for nothing more
    owned: set[int] = field(default_factory=set)  # places accepted and not released
    reached: dict[int, int] = field(default_factory=dict)  # place → last position that was delivered


class Rest:
    """Follows the rows of all workers."""

    def __init__(self, engine: Engine, described: dict[str, Any], state: BrokerState) -> None:
        self._engine, self._described, self._state = engine, described, state
        self._progress: dict[int, _Progress] = {}
        self._long: int = described["settle"]
        # A client above its quota gets nothing meanwhile, and what it has given up is read when its time has come.
        self._short_idle: int = _SHORT_IDLE_NS + described["throttle"]
        self.last_activity = 0
        self._kafka = described["brokers"][0]["kind"] == "kafka"
        self._first = 0 if self._kafka else 1  # the end of a place where nothing was stored: offsets, sequences

    def look(self) -> None:
        """Takes in the rows written since the last look."""
        for life in self._engine.lives:
            rows = life.rows.new_rows()
            if len(rows):
                self._take(life, rows)

    def _take(self, life: Life, rows: Rows) -> None:
        progress = self._progress.setdefault(id(life), _Progress())
        active = rows[~np.isin(rows["kind"], _NO_ACTIVITY)]
        if len(active):
            self.last_activity = max(self.last_activity, int(active["time"][-1]))
        fetches = rows[rows["kind"] == KIND["fetch"]]
        if len(fetches):
            progress.fetch_open = bool(fetches["phase"][-1] == PHASE["invoke"])
            progress.refused = bool(fetches["phase"][-1] == PHASE["fail"])
        progress.assigned = progress.assigned or bool((rows["kind"] == KIND["assigned"]).any())
        delivered = rows[rows["kind"] == KIND["deliver"]]
        for place in np.unique(delivered["place"]):
            progress.reached[int(place)] = int(delivered["position"][delivered["place"] == place][-1])
        owning = rows[np.isin(rows["kind"], [KIND["accept"], KIND["release"]]) & (rows["phase"] == PHASE["invoke"])]
        for row in owning[owning["place"] != _core.NO_PLACE]:
            (progress.owned.add if row["kind"] == KIND["accept"] else progress.owned.discard)(int(row["place"]))

    # ---- questions ----

    def ready(self) -> bool:
        """Every reader reads what it will read from: the workload may begin, and nothing of it is a backlog."""
        self.look()
        if any(progress.refused for progress in self._progress.values()):
            return True
        readers = [life for life in self._engine.current.values() if life.role in ("stage", "observer")]
        if any(life.ended or not self._reads(life) for life in readers):
            return False
        return not self._kafka or all(set(places) <= self._owned_by(group) for group, places in self._inputs().items())

    def _reads(self, life: Life) -> bool:
        progress, header = self._progress.get(id(life)), life.rows.header()
        if progress is None or header is None or not header.reading:
            return False
        return progress.assigned or (progress.fetch_open and not self._kafka)

    def _inputs(self, when: str = "at_first") -> dict[str, list[int]]:
        """Reader's name → the places it reads; all that there may be with `partitions`."""
        topics = {topic["name"]: topic for topic in self._described["topics"]}
        names = {stage["name"]: stage["inputs"] for stage in self._described["stages"]}
        names |= {observer["name"]: [observer["topic"]] for observer in self._described["observers"]}
        return {
            name: [
                topics[topic]["first_place"] + partition
                for topic in inputs for partition in range(topics[topic][when])
            ]
            for name, inputs in names.items()
        }  # fmt: skip

    def _owned_by(self, group: str) -> set[int]:
        owned: set[int] = set()
        for process, life in self._engine.current.items():
            if self._engine.processes[process]["group"] == group and not life.ended:
                owned |= self._progress.get(id(life), _Progress()).owned
        return owned

    def at_rest(self) -> bool:
        return not self.why_not()

    def why_not(self) -> str:
        """What is still under way; empty at rest."""
        self.look()
        engine = self._engine
        if engine.active or engine.waits_for_time:
            return "a fault is not over"
        busy = [life.name for life in engine.current.values() if not self._worker_idle(life)]
        if busy:
            return f"{', '.join(busy)} not idle"
        since = max(self.last_activity, engine.last_strike)
        idle = engine.clock.now() - since
        if idle < self._short_idle:
            return "activity goes on"
        state = self._state.since(since)
        if state is None:
            return f"the broker does not say how far it is: {self._state.last_error or 'no answer'}"
        return self._broker_busy(state) or self._readers_behind(state, idle)

    def _broker_busy(self, state: dict[str, Any]) -> str:
        if not state["whole"]:
            return "replicas are not all in sync"
        unstable = [place["place"] for place in state["places"] if place["stable"] < place["end"]]
        return f"a transaction is open in {self._named(unstable)}" if unstable else ""

    def _readers_behind(self, state: dict[str, Any], idle: int) -> str:
        ends = {place["place"]: place["end"] for place in state["places"]}
        behind = [group for group in state["groups"] if not self._caught_up(group, ends[group["place"]], idle)]
        if behind:
            return f"{behind[0]['group']} is behind in {self._named([group['place'] for group in behind])}"
        late = [life.name for life in self._engine.current.values() if not self._observer_done(life, ends, idle)]
        return f"{', '.join(late)} may have more to read" if late else ""

    def _named(self, places: list[int]) -> str:
        return ", ".join(self._described["places"][place] for place in places)

    @staticmethod
    def _worker_idle(life: Life) -> bool:
        header = life.rows.header()
        if life.ended:
            return life.expected_to_stop and life.child.returncode == 0
        if life.expected_to_stop:
            return False
        return header is not None and header.state in (RUNNING, FINISHED) and header.idle

    def _observer_done(self, life: Life, ends: dict[int, int], idle: int) -> bool:
        if life.role != "observer" or idle >= _OWNED_IDLE_NS:
            return True
        reached = self._progress[id(life)].reached if id(life) in self._progress else {}
        return all(
            ends[place] <= reached.get(place, -1) + 1
            for place in self._inputs("partitions")[life.name]
            if ends[place] > self._first
        )

    def _caught_up(self, group: dict[str, Any], end: int, idle: int) -> bool:
        if group["undelivered"] == 0 and group["unacked"] == 0 and group["committed"] >= end:
            return True
        if idle >= self._long or (end == 0 and group["committed"] < 0):
            return True
        if not self._kafka or group["stage"] >= len(self._described["stages"]):
            return False
        stage = self._described["stages"][group["stage"]]
        name = stage["name"]
        owned = group["place"] in self._owned_by(name) and self._all_fetching(name)
        return owned and idle >= max(_OWNED_IDLE_NS, stage["auto_commit"] + 1_000_000_000)

    def _all_fetching(self, group: str) -> bool:
        return all(
            self._progress.get(id(life), _Progress()).fetch_open
            for process, life in self._engine.current.items()
            if self._engine.processes[process]["group"] == group
        )
