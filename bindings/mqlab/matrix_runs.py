"""What a matrix runs: for each fault of a scenario one search, then its stories or its probes on the real broker."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from mqlab import confirm, search
from mqlab.counterexample import Counterexample
from mqlab.live.surroundings import CannotRunLive
from mqlab.live_run import LiveWorld, live_world
from mqlab.matrices import CANNOT, NO_FAULT, Cell, Note, judged, restricted
from mqlab.runs import Run
from mqlab.scenario import Scenario
from mqlab.verdicts import UNDECIDED, VIOLATED, ClaimVerdict, Verdicts, has_value


@dataclass
class Asked:
    times: int
    schedules: int
    jobs: int | None
    seed: int
    out: Path
    note: Note | None

    def cells(self, scenario: Scenario, planned: Sequence[Cell]) -> list[Cell]:
        """The planned cells, filled in. One live world a scenario: a planted defect is looked for first."""
        with live_world(self.out / scenario.name / "live") as real:
            try:
                confirm.trust(real, scenario, self.note)
            except CannotRunLive as error:
                return [replace(cell, state=CANNOT, detail=str(error)) for cell in planned]
            return [
                cell
                for (fault, anchors), group in groupby(planned, key=lambda c: (c.fault, c.anchors))
                for cell in self._group(real, scenario, fault, anchors, list(group))
            ]

    def _group(self, real: LiveWorld, scenario: Scenario, fault: str, anchors: str, cells: list[Cell]) -> list[Cell]:
        only = restricted(scenario, fault, anchors)
        folder = self.out / scenario.name / fault
        verdicts = search.verify(
            only, schedules=self.schedules, seconds=None, jobs=self.jobs or os.cpu_count() or 1, seed=self.seed,
            claims=(), out=folder,
        )  # fmt: skip
        told: dict[str, list[Run]] = {}
        probes: list[Run] | None = None
        filled = []
        for cell in cells:
            verdict: ClaimVerdict = verdicts[cell.claim]
            base = replace(cell, schedules=verdicts.schedules)
            try:
                if verdict.counterexample is not None:
                    filled.append(self._story(real, base, verdict, verdict.counterexample, told))
                    continue
                if probes is None:
                    probes = confirm.probe(real, only, self.seed, self.times, self.note)
                filled.append(self._probed(base, verdict, probes))
            except CannotRunLive as error:
                filled.append(replace(base, state=CANNOT, detail=str(error)))
        return filled

    def _story(
        self, real: LiveWorld, cell: Cell, verdict: ClaimVerdict, story: Counterexample, told: dict[str, list[Run]]
    ) -> Cell:
        needs_fault = story.scenario.core.faults > 0
        if cell.fault != NO_FAULT and not needs_fault:
            return judged(cell, VIOLATED, False, 0, 0, 0, "")
        if story.key not in told:
            told[story.key] = confirm.told(real, story, self.times, self.note)
        runs = told[story.key]
        broken = confirm.broken(cell.claim, runs)
        reached = sum(run.faults_reached and run.verdicts[cell.claim].verdict != UNDECIDED for run in runs)
        if story.needs_an_order:
            reached = 0
        return judged(_ran(cell, runs[0].verdicts), verdict.verdict, needs_fault, broken, len(runs), reached,
                      verdict.explanation + confirm.why_not(story, runs))  # fmt: skip

    def _probed(self, cell: Cell, verdict: ClaimVerdict, probes: Sequence[Run]) -> Cell:
        wanted = 1 if has_value(verdict.claim) else self.times
        looked_at = probes[:1] if has_value(verdict.claim) else probes
        said = [run.verdicts[cell.claim] for run in looked_at]
        broken = [v for v in said if v.verdict == VIOLATED]
        decided = sum(run.faults_reached and v.verdict != UNDECIDED for run, v in zip(looked_at, said, strict=True))
        doubt = next((v.explanation for v in said if v.verdict == UNDECIDED), "")
        enough = decided >= wanted
        detail = broken[0].explanation if broken else verdict.explanation if enough else doubt
        cell = _ran(cell, probes[0].verdicts)
        return judged(cell, verdict.verdict, False, len(broken), len(said) if broken else decided, int(enough), detail)


def _ran(cell: Cell, verdicts: Verdicts) -> Cell:
    """With the versions that ran."""
    broker = ", ".join(f"{kind} {version}" for kind, version in verdicts.brokers)
    return replace(cell, broker=broker, client=verdicts.client)
