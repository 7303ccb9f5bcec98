"""Mends: the smallest change of settings, out of a given list, with which the same search breaks nothing more."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mqlab import search
from mqlab.errors import ScenarioError
from mqlab.verdicts import HOLDS, UNDECIDED, VIOLATED, Verdicts

if TYPE_CHECKING:
    from mqlab.runs import Run
    from mqlab.scenario import Scenario

SCHEMA = "mqlab.mend/1"
MOST_TRIALS = 512
_QUANTILES = {"p50": 0.5, "p99": 0.99, "max": 1.0}
Change = tuple[tuple[str, Any], ...]  # settings by path, in the order they were given
Progress = Callable[[int, int], None]  # changes tried, of so many at most


@dataclass(frozen=True)
class Price:
    """What a scenario costs in the search's first run, which has no fault. Seconds, and requests a second."""

    latency: Mapping[str, float]
    throughput: float

    def document(self) -> dict[str, Any]:
        latency = {name: value if isfinite(value) else None for name, value in self.latency.items()}
        return {"latency": latency, "throughput": self.throughput}


@dataclass(frozen=True)
class Mend:
    """A change that works, and nothing in it can be left out: every smaller one was tried and does not."""

    change: Change
    scenario: Scenario
    verdicts: Verdicts
    price: Price


@dataclass(frozen=True)
class Mending:
    """What `mqlab.mend` gives. `mends`: all changes of the smallest size that work, the cheapest (p99) first."""

    scenario: Scenario
    before: Verdicts
    price: Price
    mends: tuple[Mend, ...]
    tried: int
    refused: tuple[tuple[Change, str], ...]  # settings that contradict each other, with the reason

    @property
    def broken(self) -> tuple[str, ...]:
        """The claims to be mended, by scope."""
        return tuple(v.scope for v in self.before if v.verdict == VIOLATED and not v.as_expected)

    @property
    def exit_code(self) -> int:
        """0 mended, or nothing to mend · 1 nothing in the list mends it · 3 undecided to begin with."""
        if not self.broken:
            return 3 if any(v.verdict == UNDECIDED for v in self.before) else 0
        return 0 if self.mends else 1

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "scenario": self.scenario.name,
            "broken": list(self.broken),
            "schedules": self.before.schedules,
            "seed": self.before.seed,
            "price": self.price.document(),
            "tried": self.tried,
            "refused": [{"change": dict(change), "reason": reason} for change, reason in self.refused],
            "mends": [
                {"change": dict(m.change), "price": m.price.document(), "verdicts": m.verdicts.document()}
                for m in self.mends
            ],
        }


def mend(
    scenario: Scenario,
    vary: Mapping[str, Sequence[Any]],
    *,
    claims: Sequence[str] = (),
    schedules: int = 2000,
    jobs: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Mending:
    """Looks for the smallest change out of `vary` (path → values) that makes every violated claim hold.

    The search is the same for each change: so many schedules from the same seed. A change works when the claims that
    were violated hold and no other is violated by it; `claims` restricts which are looked at. Changes of one setting
    are tried first, then of two, and so on. Raises ScenarioError for a path that does not exist, and for more than
    512 changes.
    """
    plans = _plans(scenario, vary)
    trial = _Trial(list(claims), schedules, jobs or os.cpu_count() or 1, seed)
    before = trial.verdicts(scenario)
    broken = [v.scope for v in before if v.verdict == VIOLATED and not v.as_expected]
    found: list[Mend] = []
    tried = 0
    for plan in plans if broken else ():
        if found and len(plan.change) > len(found[0].change):
            break
        tried += 1
        if progress is not None:
            progress(tried, len(plans))
        if isinstance(plan.outcome, ScenarioError) or plan.outcome == scenario:
            continue
        after = trial.verdicts(plan.outcome)
        if _works(before, after, broken):
            found.append(Mend(plan.change, plan.outcome, after, trial.price(plan.outcome)))
    refused = tuple((p.change, str(p.outcome)) for p in plans[:tried] if isinstance(p.outcome, ScenarioError))
    found.sort(key=lambda m: m.price.latency["p99"])
    return Mending(scenario, before, trial.price(scenario), tuple(found), tried, refused)


class _Plan(NamedTuple):
    change: Change
    outcome: Scenario | ScenarioError  # the error: the change contradicts itself, or the rest


def _plans(scenario: Scenario, vary: Mapping[str, Sequence[Any]]) -> list[_Plan]:
    """All changes, small ones first. A setting that is refused in all of them is bad input."""
    if not vary:
        raise ScenarioError(scenario.file, 0, "", "nothing to vary: name settings and values, PATH=V1,V2")
    for path, values in vary.items():
        if not values:
            raise ScenarioError(scenario.file, 0, path, "no values to vary it over")
    if _count(vary) > MOST_TRIALS:
        raise ScenarioError(scenario.file, 0, "", f"{_count(vary):,} changes; at most {MOST_TRIALS} are tried")
    plans = [
        _Plan(change, _changed(scenario, change)) for size in range(1, len(vary) + 1) for change in _changes(vary, size)
    ]
    taken = {path for plan in plans if not isinstance(plan.outcome, ScenarioError) for path, _ in plan.change}
    for plan in plans:
        if isinstance(plan.outcome, ScenarioError) and len(plan.change) == 1 and plan.change[0][0] not in taken:
            raise plan.outcome
    return plans


def _changed(scenario: Scenario, change: Change) -> Scenario | ScenarioError:
    try:
        return scenario.with_(dict(change))
    except ScenarioError as error:
        return error


def _count(vary: Mapping[str, Sequence[Any]]) -> int:
    total = 1
    for values in vary.values():
        total *= 1 + len(values)
    return total - 1


def _changes(vary: Mapping[str, Sequence[Any]], size: int) -> Iterator[Change]:
    for paths in itertools.combinations(vary, size):
        for values in itertools.product(*(vary[path] for path in paths)):
            yield tuple(zip(paths, values, strict=True))


def _works(before: Verdicts, after: Verdicts, broken: Sequence[str]) -> bool:
    was = {v.scope: v.verdict for v in before}
    return all(
        v.verdict == HOLDS if v.scope in broken else v.as_expected or v.verdict == was.get(v.scope) for v in after
    )


@dataclass(frozen=True)
class _Trial:
    """The one search that every change goes through."""

    claims: Sequence[str]
    schedules: int
    jobs: int
    seed: int

    def verdicts(self, scenario: Scenario) -> Verdicts:
        with tempfile.TemporaryDirectory(prefix="mqlab-mend-") as folder:
            return search.verify(
                scenario, schedules=self.schedules, seconds=None, jobs=self.jobs, seed=self.seed, claims=self.claims,
                out=Path(folder),
            )  # fmt: skip

    def price(self, scenario: Scenario) -> Price:
        run = self._first(scenario)
        latency = {name: run.latency.quantile(q) for name, q in _QUANTILES.items()}
        return Price(latency, run.throughput)

    def _first(self, scenario: Scenario) -> Run:
        from mqlab import api

        return api.run(scenario, seed=self.seed)
