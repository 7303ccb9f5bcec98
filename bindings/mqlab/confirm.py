"""Back to the real broker: stories that the search found, and runs that look for what it may have missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqlab import _core, api
from mqlab.counterexample import Counterexample
from mqlab.live_run import LiveWorld, live_world
from mqlab.runs import Run
from mqlab.scenario import Scenario
from mqlab.verdicts import HOLDS, UNDECIDED, VIOLATED, ClaimVerdict, Reproduced, Verdicts, has_value


def again(story: Counterexample, *, world: str, times: int, note: api.Note | None) -> Verdicts:
    """What a story's claim says when it is run `times` over."""
    runs = api.replay(story, world, times, note)
    verdicts = [run.verdicts[story.claim] for run in runs]
    broken = [v for v in verdicts if v.verdict == VIOLATED]
    shown = replace(
        (broken or verdicts)[0],
        story=story.story,
        counterexample=story,
        first_failing_schedule=story.schedule,
        reproduced=Reproduced(len(broken), len(runs)) if world == "live" else None,
    )
    return replace(runs[0].verdicts, claims=(shown,))  # a shrunk run says nothing of other claims


def on_real_broker(scenario: Scenario, verdicts: Verdicts, *, times: int, note: api.Note | None) -> Verdicts:
    """The verdicts of a search, with what the real broker said to each.

    Each story is run `times` over. Claims that no story breaks are checked in a run without faults and in `times`
    runs with faults of the scenario's menu, spread over its anchors.
    """
    told: dict[str, list[Run]] = {}  # by what is run: claims may share a story
    with live_world() as real:
        for story in (v.counterexample for v in verdicts if v.counterexample is not None):
            if story.key not in told:
                told[story.key] = real.series(story, times, note)
        controls = []
        if any(v.counterexample is None for v in verdicts):
            controls = _controls(real, scenario, verdicts.seed, times, note)
    claims = tuple(
        _not_seen(v, controls) if v.counterexample is None else _confirmed(v, told[v.counterexample.key], times)
        for v in verdicts
    )
    ran = next(iter([*controls, *(run for series in told.values() for run in series)]), None)
    if ran is None:
        return replace(verdicts, claims=claims, world="live")
    return replace(verdicts, claims=claims, world="live", client=ran.verdicts.client, brokers=ran.verdicts.brokers)


def _controls(real: LiveWorld, scenario: Scenario, seed: int, times: int, note: api.Note | None) -> list[Run]:
    """The scenario without faults, then with one of the menu's faults each; without a menu, `times` over as it is."""
    probes = _core.probes(scenario.core, seed, times) if scenario.core.menu else []
    plain = [_core.Schedule(seed)] * (1 if probes else times)
    runs = []
    for number, schedule in enumerate([*plain, *probes], 1 - len(plain)):
        if note is not None:
            what = "without faults" if number <= 0 else f"with a fault of the menu, {number} of {len(probes)}"
            note(f"{scenario.name}: live run {what}")
        spelled = Scenario(_core.spelled_out(scenario.core, schedule).to_toml(), scenario.file)
        runs.append(real.run(spelled, schedule))
    return runs


def _confirmed(verdict: ClaimVerdict, runs: Sequence[Run], times: int) -> ClaimVerdict:
    """A story the search found: how often did it show?"""
    seen = sum(run.verdicts[verdict.scope].verdict == VIOLATED for run in runs)
    missed = sum(not run.faults_reached for run in runs)
    explanation = verdict.explanation
    if seen == 0:
        explanation += "; in the model only: not reproduced on the real broker"
    if missed:
        explanation += f"; in {missed} of {times} live runs its fault was not reached"
    return replace(verdict, reproduced=Reproduced(seen, times), explanation=explanation)


def _not_seen(verdict: ClaimVerdict, runs: Sequence[Run]) -> ClaimVerdict:
    """A claim that no simulated schedule breaks: does the real broker break it? Costs are judged without faults."""
    looked_at = runs[:1] if has_value(verdict.claim) else runs
    said = [run.verdicts[verdict.scope] for run in looked_at]
    broken = [v for v in said if v.verdict == VIOLATED]
    decided = [v for v in said if v.verdict != UNDECIDED]
    seen = Reproduced(len(broken), len(said))
    if broken:
        explanation = f"on the real broker only: {broken[0].explanation}"
        return replace(verdict, verdict=VIOLATED, explanation=explanation, value=broken[0].value, reproduced=seen)
    if verdict.verdict == HOLDS and len(decided) < len(said):
        reason = next(v.explanation for v in said if v.verdict == UNDECIDED)
        return replace(verdict, verdict=UNDECIDED, explanation=f"live: {reason}", reproduced=seen)
    value = said[0].value if said else verdict.value
    return replace(verdict, value=value, reproduced=seen)
