"""The agreement matrix: per claim and fault, whether the model and the real broker say the same. Counted honestly.

Cells are enumerated before anything runs. "None found in both" is no agreement that can be counted: it stands apart,
with how much was searched and how little the live runs can exclude.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqlab import _core, result
from mqlab.errors import ScenarioError
from mqlab.verdicts import UNDECIDED, VIOLATED

if TYPE_CHECKING:
    import pandas as pd

    from mqlab.scenario import Scenario

SCHEMA = "mqlab.matrix/1"
NO_FAULT = "none"
REQUEST, STEP = "client request", "application step"
_OF_REQUESTS = ("delay", "drop_response", "reset")  # they happen to a request; all others to a process

BOTH = "violated in both"
NONE = "none found in both"
OVER = "over-predicted"  # the step is reached live, and live the claim holds
UNDER = "under-predicted"  # the real broker breaks what the model keeps
NOT_REPRODUCED = "not reproduced"  # the live runs did not come to the step: neither agreement nor disagreement
UNDECIDED_LIVE = "undecided"
SAME = "needs no fault"  # broken without this fault: the cell without faults says it, it is not counted twice
CANNOT = "cannot"
STATES = (BOTH, NONE, OVER, UNDER, NOT_REPRODUCED, UNDECIDED_LIVE, SAME, CANNOT)

Note = Callable[[str], None]


@dataclass(frozen=True)
class Cell:
    """One question to both worlds. What it says is filled in when it has been asked."""

    scenario: str
    broker: str  # kind, and the version that ran
    client: str
    settings: str  # hash of all settings, faults and claims aside
    claim: str  # its scope
    fault: str
    anchors: str  # application step | client request | "" without a fault
    held_out: bool = False  # kept out of tuning: nobody changes the model because of it
    state: str = ""
    schedules: int = 0  # searched in the model
    violations: int = 0  # failing live runs
    runs: int = 0  # live runs
    detail: str = ""

    @property
    def excluded_rate(self) -> float | None:
        """Where no live run broke it: with 95 % confidence it breaks in less than this share of runs."""
        if self.state != NONE or not self.runs:
            return None
        return float(1 - 0.05 ** (1 / self.runs))

    def document(self) -> dict[str, Any]:
        return {**self.__dict__, "excluded_rate": self.excluded_rate}


@dataclass(frozen=True)
class Matrix:
    cells: tuple[Cell, ...]
    times: int
    schedules: int
    seed: int

    def count(self, state: str, held_out: bool | None = None) -> int:
        return sum(c.state == state and held_out in (None, c.held_out) for c in self.cells)

    def agreement(self, held_out: bool | None = None) -> float | None:
        """Both-violated ÷ (both-violated + over + under). None where nothing can be counted."""
        both = self.count(BOTH, held_out)
        counted = both + self.count(OVER, held_out) + self.count(UNDER, held_out)
        return both / counted if counted else None

    @property
    def exit_code(self) -> int:
        """1 where the real broker breaks what the model keeps: always a finding."""
        return 1 if self.count(UNDER) else 0

    def table(self) -> pd.DataFrame:
        """One row a cell."""
        import pandas as pd

        return pd.DataFrame([cell.document() for cell in self.cells])

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "times": self.times,
            "schedules": self.schedules,
            "seed": self.seed,
            "counts": {state: self.count(state) for state in STATES},
            "agreement": self.agreement(),
            "agreement_held_out": self.agreement(held_out=True),
            "cells": [cell.document() for cell in self.cells],
        }


@cache
def _build() -> str:
    """The compiled part by its contents."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


class Kept:
    """The cells of one scenario on disk, so that a matrix that was interrupted goes on where it was."""

    def __init__(self, path: Path, scenario: Scenario, asked_with: tuple[int, int, int]) -> None:
        whole = json.dumps([SCHEMA, scenario.to_toml(), asked_with, _build()])
        self._path, self._key = path, hashlib.sha256(whole.encode()).hexdigest()

    def load(self, planned: Sequence[Cell]) -> list[Cell] | None:
        """None where there are none, or of something else."""
        if not self._path.is_file():
            return None
        document = result.read_json(self._path)
        if document["asked"] != self._key:
            return None
        cells = [Cell(**{k: v for k, v in cell.items() if k != "excluded_rate"}) for cell in document["cells"]]
        return [replace(cell, held_out=plan.held_out) for cell, plan in zip(cells, planned, strict=True)]

    def save(self, cells: Sequence[Cell]) -> None:
        with result.disk(self._path.parent):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            result.write_json(self._path, {"asked": self._key, "cells": [cell.document() for cell in cells]})


def as_it_runs_live(scenario: Scenario) -> Scenario:
    """With the client that the live world has: both worlds must be asked about the same one."""
    if scenario.core.flavour == "java":
        return scenario.with_({"client.flavour": "librdkafka"})
    return scenario


def _planned(scenario: Scenario, held_out: Sequence[str]) -> tuple[Scenario | None, list[Cell]]:
    """The scenario as it runs live, and its cells; None where the live client cannot express its settings."""
    try:
        live = as_it_runs_live(scenario)
    except ScenarioError as error:
        cells = enumerate_cells(scenario, scenario.name in held_out)
        return None, [replace(c, state=CANNOT, detail=f"the live client: {error.problem}") for c in cells]
    return live, enumerate_cells(live, live.name in held_out)


def settings_hash(scenario: Scenario) -> str:
    document = {k: v for k, v in scenario.to_dict().items() if k not in ("claims", "faults", "question", "limits")}
    return hashlib.sha256(repr(document).encode()).hexdigest()[:12]


def enumerate_cells(scenario: Scenario, held_out: bool = False) -> list[Cell]:
    """All cells of a scenario, before anything runs: each claim without faults, and under each fault of the menu."""
    broker = scenario.core.brokers[0]
    steps = set(scenario.to_dict()["faults"]["steps"])
    faults = [(NO_FAULT, "")]
    for action in scenario.core.menu:
        classes = [REQUEST] if action in _OF_REQUESTS else [STEP]
        faults += [(action, c) for c in classes if not steps or steps & set(_core.steps_of(c))]
    return [
        Cell(
            scenario.name, f"{broker.kind} {broker.version}", scenario.core.flavour, settings_hash(scenario),
            claim.scope, fault, anchors, held_out,
        )
        for fault, anchors in faults
        for claim in scenario.core.claims
    ]  # fmt: skip


def restricted(scenario: Scenario, fault: str, anchors: str) -> Scenario:
    """The scenario with this fault only, at anchors of this class only."""
    if fault == NO_FAULT:
        return scenario.with_({"faults.menu": []})
    steps = scenario.to_dict()["faults"]["steps"]
    mine = _core.steps_of(anchors)
    chosen = [step for step in mine if step in steps] if steps else mine
    return scenario.with_({"faults.menu": [fault], "faults.steps": chosen, "faults.at_most": 1})


def matrix(
    scenarios: Iterable[Scenario],
    *,
    times: int = 5,
    schedules: int = 1000,
    jobs: int | None = None,
    seed: int = 1,
    held_out: Sequence[str] = (),
    out: Path,
    note: Note | None = None,
) -> Matrix:
    """Asks both worlds about every cell. `out`: a folder for stories and live histories. See docs/matrix.md.

    A scenario that was asked before into the same folder, by the same build with the same `times`, `schedules` and
    `seed`, is not asked again: a matrix that was interrupted goes on, and parts of one can be made side by side.
    `held_out`: names of scenarios whose cells are kept out of tuning. Raises BrokerError when the environment fails.
    """
    from mqlab.matrix_runs import Asked

    asked = Asked(times, schedules, jobs, seed, out, note)
    planned = [(scenario, *_planned(scenario, held_out)) for scenario in scenarios]
    cells: list[Cell] = []
    for scenario, live, group in planned:
        kept = Kept(out / scenario.name / "cells.json", live or scenario, (times, schedules, seed))
        found = kept.load(group)
        if note is not None:
            note(f"{scenario.name}: {len(group)} cells{', asked before' if found else ''}")
        if found is None:
            found = asked.cells(live, group) if live is not None else group
            kept.save(found)
        cells += found
    return Matrix(tuple(cells), times, schedules, seed)


def judged(cell: Cell, simulated: str, needs_fault: bool, broken: int, runs: int, reached: int, detail: str) -> Cell:
    """The state of a cell. `broken`, `reached`: of the live runs, those that broke the claim; came to the fault."""
    filled = replace(cell, violations=broken, runs=runs, detail=detail)
    if simulated == VIOLATED:
        if cell.fault != NO_FAULT and not needs_fault:
            return replace(filled, state=SAME)
        if broken:
            return replace(filled, state=BOTH)
        return replace(filled, state=OVER if reached else NOT_REPRODUCED)
    if broken:
        return replace(filled, state=UNDER)
    if simulated == UNDECIDED or not reached:
        return replace(filled, state=UNDECIDED_LIVE)
    return replace(filled, state=NONE)
