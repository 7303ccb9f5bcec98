"""Rows and a scenario for a history that none of the lab's worlds wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from mqlab import _core
from mqlab.errors import HistoryError
from mqlab.history import FLAG, KIND, PHASE, History
from mqlab.scenario import Scenario, load

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_UNSIGNED_32 = 2**32 - 1


@dataclass(frozen=True)
class Foreign:
    """A history, what its numbers are called where it came from, and the claims that suit it."""

    history: History
    claims: dict[str, object] = field(default_factory=dict)
    ids: tuple[
        str | int, ...
    ] = ()  # by number, from 1: the record as its source names it; empty: the numbers themselves
    operations: tuple[int, ...] = ()  # by row: the source's operation; empty: the rows themselves
    keys: dict[str, str | int] = field(default_factory=dict)  # place → the source's name for it
    complete: bool = True


@dataclass
class Parties:
    """Who sends to which topic and who reads which; a name is a process's."""

    topics: dict[str, int] = field(default_factory=dict)  # name → partitions
    senders: dict[str, str] = field(default_factory=dict)
    readers: dict[str, str] = field(default_factory=dict)

    def scenario(self, file: str) -> Scenario:
        """The least scenario that has these parties: it is never run."""
        topics = self.topics or {"unnamed": 1}
        first = next(iter(topics))
        senders = self.senders or {"nobody": first}
        return load(
            {
                "name": "elsewhere",
                "broker": {"kind": "kafka"},
                "topics": [{"name": name, "partitions": count} for name, count in topics.items()],
                "workloads": [
                    {"name": name, "topic": topic, "rate": "1/s", "messages": 1} for name, topic in senders.items()
                ],
                "observers": [{"name": name, "topic": topic} for name, topic in self.readers.items()],
            }
        )


def is_name(text: str) -> bool:
    """Whether a process or topic may be called so."""
    return _NAME.fullmatch(text) is not None


class Rows:
    """Rows one after the other, by the names of processes and places."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._topology = _core.Topology(scenario.core)
        self._processes = {process.name: number for number, process in enumerate(self._topology.processes)}
        self._places = {place.name: number for number, place in enumerate(self._topology.places)}
        self._rows: list[tuple[int, ...]] = []
        self.operations: list[int] = []
        self._operation = 0

    def operation(self, number: int) -> None:
        """The rows that follow are of this operation of the source."""
        self._operation = number

    def add(
        self, time: int, process: str, kind: str, phase: str = "ok", *, op: int = 0, message: int = 0, place: str = "",
        position: int = -1, aux: int = 0, transaction: int = 0, flags: Iterable[str] = (),
    ) -> None:  # fmt: skip
        bits = 0
        for name in flags:
            bits |= FLAG[name]
        self._rows.append(
            (
                time, position, aux, op, message, self._places.get(place, _core.NO_PLACE), transaction,
                self._processes[process], bits, KIND[kind], PHASE[phase],
            )
        )  # fmt: skip
        self.operations.append(self._operation)

    def history(self) -> History:
        rows = np.zeros(len(self._rows), _core.ROW)
        names = (
            "time",
            "position",
            "aux",
            "op",
            "message",
            "place",
            "transaction",
            "process",
            "flags",
            "kind",
            "phase",
        )
        table = np.array(self._rows, dtype=np.int64).reshape(len(self._rows), len(names))
        for column, name in enumerate(names):
            rows[name] = table[:, column]
        return History(self.scenario, rows)


class Source:
    """Where in a file something stands, for what is said when it is wrong."""

    def __init__(self, file: str) -> None:
        self.file = file

    def fail(self, line: int, problem: str) -> HistoryError:
        """To be raised: file, line, what is wrong."""
        return HistoryError(f"{self.file}:{line}: {problem}" if line > 0 else f"{self.file}: {problem}")


class Ids:
    """Numbers from 1 for whatever a source tells its records apart by."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self.names: list[str | int] = []

    def __call__(self, key: object, name: str | int) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self.names.append(name)
        return self._numbers[key]


def fits(number: int) -> bool:
    """Whether a row's 32-bit field can hold it."""
    return 0 <= number <= _UNSIGNED_32
