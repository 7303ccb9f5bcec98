"""Carries entries out in one world and says of each fact whether it agrees there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from mqlab import _core, api
from mqlab.conformance.entry import Defaults, Entry, Planned
from mqlab.conformance.expect import Seen, check
from mqlab.conformance.observe import Mistake
from mqlab.errors import BrokerError, ScenarioError
from mqlab.live.surroundings import CannotRunLive
from mqlab.runs import Run
from mqlab.scenario import Scenario

SCHEMA = "mqlab.conformance/1"
AGREES, DIFFERS, CANNOT, OTHER_VERSION = "agrees", "differs", "cannot", "other-version"
Note = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What became of one fact in one world."""

    entry: Entry
    world: str
    version: str  # of the broker that ran
    result: str  # agrees | differs | cannot | other-version
    expected: str
    observed: str
    seen: tuple[Seen, ...] = ()

    def document(self) -> dict[str, Any]:
        return {
            "fact": self.entry.fact,
            "says": self.entry.says,
            "broker": self.entry.broker,
            "version": self.version,
            "result": self.result,
            "expected": self.expected,
            "observed": self.observed,
            "source": "; ".join(self.entry.source),
        }


@dataclass
class Simulated:
    """The simulated world. Entries that share a scenario share its run."""

    name: str = "sim"
    done: dict[str, Run] = field(default_factory=dict)

    def run(self, scenario: Scenario) -> Run:
        key = f"{scenario.file}\n{scenario.to_toml()}"
        if key not in self.done:
            self.done[key] = api.simulate(scenario, _core.Schedule(1))
        return self.done[key]

    def refuses(self, entry: Entry) -> Outcome | None:
        return None

    def by_hand(self, entry: Entry) -> list[Seen]:
        """Without a run: the model's own defaults."""
        if entry.defaults is None:
            return []
        rows = _core.settings_of(entry.defaults.owner, entry.defaults.version)
        return held({key: default for key, _, default in rows}, entry.defaults)


def held(given: Mapping[str, Any], wanted: Defaults) -> list[Seen]:
    """Defaults as they are, against what is said of them."""
    return [
        Seen(str(given.get(key, "not there")).lower() == value.lower(), f"{key} = {value}", f"{given.get(key)}")
        for key, value in wanted.values.items()
    ]


def run(entries: Sequence[Entry], world: str = "sim", address: str = "", note: Note | None = None) -> list[Outcome]:
    """Outcomes in the order of `entries`. `address`: of the user's own cluster (live). Raises BrokerError when no
    broker can be started or reached."""
    with ExitStack() as stack:
        if world == "sim":
            place: Any = Simulated()
        else:
            from mqlab.conformance.live import LivePlace

            place = stack.enter_context(LivePlace(address, entries))
        found: dict[str, Outcome] = {}
        for entry in place.in_order(entries) if world != "sim" else entries:
            found[entry.fact] = outcome(entry, place)
            if note is not None:
                note(f"{found[entry.fact].result:13} {entry.fact}")
        return [found[entry.fact] for entry in entries]


def outcome(entry: Entry, place: Any) -> Outcome:
    world = place.name
    if world in entry.cannot:
        return Outcome(entry, world, "", CANNOT, entry.says, entry.cannot[world])
    refused: Outcome | None = place.refuses(entry)
    if refused is not None:
        return refused
    seen: list[Seen] = []
    versions: list[str] = []
    try:
        seen += place.by_hand(entry)
        for planned in entry.runs(world):
            seen += _shown(entry, planned, place, versions)
    except BrokerError as error:  # what this machine, or the client library that runs, does not give
        if not (place.done or isinstance(error, CannotRunLive)):
            raise  # no broker at all
        return Outcome(entry, world, "", CANNOT, entry.says, " ".join(str(error).split()))
    except Mistake as error:
        raise ScenarioError(str(entry.file), 0, "expect", str(error)) from None
    good = bool(seen) and all(one.holds for one in seen)
    told = seen if good else [one for one in seen if not one.holds]
    return Outcome(
        entry, world, versions[0] if versions else getattr(place, "version", lambda _: "")(entry),
        AGREES if good else DIFFERS, "; ".join(one.expected for one in told),
        "; ".join(one.observed for one in told), tuple(seen),
    )  # fmt: skip


def _shown(entry: Entry, planned: Planned, place: Any, versions: list[str]) -> list[Seen]:
    """One run of an entry, held against what it expects. A run by a name has it in front of what is said."""
    try:
        scenario = entry.scenario(planned)
        done = place.run(scenario)
    except (ScenarioError, BrokerError) as error:
        if not planned.refused:
            raise
        told = f"{error.path}: {error.problem}" if isinstance(error, ScenarioError) else " ".join(str(error).split())
        return [Seen(re.search(planned.refused, told) is not None, f"refused: {planned.refused}", told)]
    versions += [version for _, version in done.verdicts.brokers]
    if planned.refused:
        return [Seen(False, f"refused: {planned.refused}", "it ran")]
    seen = [*_whole(done, planned), *(check(done, wanted) for wanted in planned.expect)]
    front = f"{planned.name}: " if planned.name else ""
    return [Seen(one.holds, front + one.expected, one.observed) for one in seen]


def _whole(done: Run, planned: Planned) -> list[Seen]:
    """What every run must have: it came to rest, and the auditor read everything if it is asked for."""
    rows = done.record
    parts = [] if any("quiet" in wanted for wanted in planned.expect) else [check(done, {"quiet": True})]
    if "audit" in repr(planned.expect) or "committed" in repr(planned.expect):
        read = len(rows.where("audit_end", "ok")) == len(rows.places)
        parts.append(Seen(read, "the auditor reads everything", "it could not"))
    return [part for part in parts if not part.holds]


def document(world: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The conformance document."""
    return {"schema": SCHEMA, "world": world, "facts": [one.document() for one in outcomes]}
