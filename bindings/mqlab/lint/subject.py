"""What rules look at: one map of settings (a producer's, a stream's …) with its defaults and what is around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Any, NamedTuple

from mqlab import _core
from mqlab.lint.rule import FAMILIES


class Given(NamedTuple):
    """A value that was written, and where."""

    value: str
    line: int


class Table(NamedTuple):
    """What settings there are: canonical names of all names, defaults by canonical name, names only passed on."""

    canonical: Mapping[str, str]
    defaults: Mapping[str, str]
    known: frozenset[str]


@cache
def table_of(name: str, version: str) -> Table:
    rows = _core.settings_of(name, version)
    canonical = {key: alias_of or key for key, alias_of, _ in rows}
    defaults = {key: default for key, alias_of, default in rows if not alias_of}
    return Table(canonical, defaults, frozenset(_core.known_of(name)))


class Claim(NamedTuple):
    id: str
    scope: str
    line: int


@dataclass(frozen=True)
class Pipeline:
    """The scenario around a subject."""

    claims: tuple[Claim, ...]  # those that are meant to hold
    menu: frozenset[str]
    document: Mapping[str, Any]

    def claims_about(self, families: Iterable[str]) -> tuple[Claim, ...]:
        ids = tuple(claim for family in families for claim in FAMILIES[family])
        return tuple(c for c in self.claims if any(c.id == i or (i.endswith(".") and c.id.startswith(i)) for i in ids))


@dataclass
class Subject:
    """One map of settings. `kind`: "kafka producer", "nats stream", "stage" …; `table`: whose defaults it has."""

    kind: str
    file: str
    path: str  # of the map in a scenario; empty in a file of its own
    line: int
    flavour: str = ""
    version: str = ""
    values: dict[str, Given] = field(default_factory=dict)  # by canonical name
    table: str = ""
    pipeline: Pipeline | None = None
    stage: Subject | None = None  # a client's stage
    broker: Subject | None = None
    topics: list[Subject] = field(default_factory=list)  # what a client reads or writes
    writers: list[Subject] = field(default_factory=list)  # a topic's producers
    readers: list[Subject] = field(default_factory=list)  # a topic's consumers
    facts: dict[str, Any] = field(default_factory=dict)  # of the owner: nodes, replication, instances …
    repeated: list[tuple[str, int]] = field(default_factory=list)  # keys written twice, with the later line
    unknown: dict[str, Given] = field(default_factory=dict)  # keys that no table has

    def __getitem__(self, key: str) -> str:
        """The value as text: what was written, else the default; empty where there is neither."""
        if key in self.values:
            return self.values[key].value
        return table_of(self.table, self.version).defaults.get(key, "") if self.table else ""

    def is_set(self, key: str) -> bool:
        return key in self.values

    def true(self, key: str) -> bool:
        return self[key].lower() == "true"

    def number(self, key: str) -> float:
        """A number, or bytes of a size. No value, -1 and "never" are infinite: these settings mean no limit by it."""
        text = self[key]
        try:
            value = float(text)
        except ValueError:
            size = _core.bytes_of(text)
            return inf if size is None else float(size)
        return inf if value < 0 else value

    def ms(self, key: str) -> float:
        """A time in milliseconds: a plain number is one (Kafka), else it has a unit (NATS)."""
        text = self[key]
        nanoseconds = _core.nanoseconds(text)
        if nanoseconds is not None:
            return nanoseconds / 1e6
        return self.number(key)

    def fact(self, name: str, default: Any = 0) -> Any:
        return self.facts.get(name, default)

    def may(self, *actions: str) -> bool:
        """Whether a fault may strike. A file of its own is read for the worst."""
        return self.pipeline is None or any(action in self.pipeline.menu for action in actions)

    def line_of(self, key: str) -> int:
        if key in self.values:
            return self.values[key].line
        return self.unknown[key].line if key in self.unknown else self.line

    def path_of(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key
