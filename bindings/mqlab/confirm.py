"""Back to the real broker: stories that the search found, and runs that look for what it may have missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mqlab import _core, api
from mqlab.counterexample import Counterexample
from mqlab.divergence import divergence
from mqlab.errors import BrokerError
from mqlab.live_run import LiveWorld, live_world
from mqlab.runs import Run
from mqlab.scenario import Scenario
from mqlab.verdicts import HOLDS, UNDECIDED, VIOLATED, ClaimVerdict, Reproduced, Verdicts, has_value


def again(story: Counterexample, *, world: str, times: int, note: api.Note | None) -> Verdicts:
    """What a story's claim says when it is run `times` over."""
    if world == "sim":
        return _shown(story, api.replay(story, world, times, note), None)
    with live_world(story.path.parent / "live") as real:
        trust(real, story.scenario, note)
        runs = told(real, story, times, note)
    return _shown(story, runs, Reproduced(broken(story.claim, runs), len(runs)))


def _shown(story: Counterexample, runs: Sequence[Run], reproduced: Reproduced | None) -> Verdicts:
    verdicts = [run.verdicts[story.claim] for run in runs]
    odd = [v for v in verdicts if v.verdict == VIOLATED]
    shown = replace(
        (odd or verdicts)[0],
        story=story.story,
        counterexample=story,
        first_failing_schedule=story.schedule,
        reproduced=reproduced,
    )
    if reproduced is not None:
        shown = replace(shown, explanation=shown.explanation + why_not(story, runs))
    return replace(runs[0].verdicts, claims=(shown,))  # a shrunk run says nothing of other claims


def on_real_broker(
    scenario: Scenario, verdicts: Verdicts, *, times: int, note: api.Note | None, keep: Path | None = None
) -> Verdicts:
    """The verdicts of a search, with what the real broker said to each; histories are kept in the folder `keep`.

    First a planted defect must be found. Then the scenario runs without faults: the control. Each story is run
    `times` over. Claims that no story breaks are checked in the control and in `times` runs with faults of the
    scenario's menu, spread over its anchors.
    """
    shown: dict[str, list[Run]] = {}  # by what is run: claims may share a story
    with live_world(keep) as real:
        trust(real, scenario, note)
        control = _plain(real, scenario, verdicts.seed, note)
        for story in (v.counterexample for v in verdicts if v.counterexample is not None):
            if story.key not in shown:
                shown[story.key] = told(real, story, times, note)
        probes = []
        if any(v.counterexample is None for v in verdicts):
            probes = probe(real, scenario, verdicts.seed, times, note)
    controls = [control, *probes]
    claims = tuple(
        _not_seen(v, controls)
        if v.counterexample is None
        else _confirmed(v, v.counterexample, shown[v.counterexample.key], control)
        for v in verdicts
    )
    ran = control.verdicts
    live = {"planted_defect": "found", "control": _clean(control)}
    return replace(
        verdicts, claims=claims, world="live", client=ran.client, brokers=ran.brokers,
        searched=verdicts.searched | {"live": live},
    )  # fmt: skip


def trust(real: LiveWorld, scenario: Scenario, note: api.Note | None) -> None:
    """A planted defect must be found on this broker, else no live verdict means anything."""
    from mqlab.live.planted import planted

    if note is not None:
        note(f"{scenario.name}: a planted defect must be found")
    run = real.run(planted(scenario), _core.Schedule(1))
    verdict = run.verdicts["no_loss"]
    if verdict.verdict != VIOLATED:
        raise BrokerError(f"a planted defect was not found on the real broker ({verdict.explanation}): nothing is said")


def probe(real: LiveWorld, scenario: Scenario, seed: int, times: int, note: api.Note | None) -> list[Run]:
    """One fault of the menu each, spread over its anchors; without a menu, `times` over as it is.

    A run that does not come to its fault says little: another is made for it, up to as many again.
    """
    schedules = [_core.Schedule(seed)] * times
    if scenario.core.menu:
        spread = _core.probes(scenario.core, seed, 2 * times)
        schedules = spread[::2] + spread[1::2]
    what = "with a fault of the menu" if scenario.core.menu else "without faults"
    runs: list[Run] = []
    for number, schedule in enumerate(schedules, 1):
        if sum(run.faults_reached for run in runs) == times:
            break
        if note is not None:
            note(f"{scenario.name}: live run {what}, {number} of {times}")
        spelled = Scenario(_core.spelled_out(scenario.core, schedule).to_toml(), scenario.file)
        runs.append(real.run(spelled, schedule, f"probe-{number}"))
    return runs


def _plain(real: LiveWorld, scenario: Scenario, seed: int, note: api.Note | None) -> Run:
    if note is not None:
        note(f"{scenario.name}: live run without faults")
    schedule = _core.Schedule(seed)
    spelled = Scenario(_core.spelled_out(scenario.core, schedule).to_toml(), scenario.file)
    return real.run(spelled, schedule, "control")


def told(real: LiveWorld, story: Counterexample, times: int, note: api.Note | None) -> list[Run]:
    """The story, `times` over on the real broker.

    A few requests leave a race one chance, and a real process does not keep time so exactly: what does not show in
    every run is run again with all of the scenario's requests, if they break the claim in the model, too. The better
    series counts.
    """
    runs = real.series(story, times, note)
    whole = replace(story, messages=None)
    if story.messages is None or broken(story.claim, runs) == len(runs) or not _breaks(whole):
        return runs
    return max(real.series(whole, times, note, "whole"), runs, key=lambda series: broken(story.claim, series))


def _breaks(story: Counterexample) -> bool:
    verdict: ClaimVerdict = api.simulate(story.scenario, story.core_schedule()).verdicts[story.claim]
    return verdict.verdict == VIOLATED


def _clean(control: Run) -> str:
    odd = [v.scope for v in control.verdicts if v.verdict == VIOLATED]
    return "clean" if not odd else f"violated without a fault: {', '.join(odd)}"


def broken(scope: str, runs: Sequence[Run]) -> int:
    return sum(run.verdicts[scope].verdict == VIOLATED for run in runs)


def why_not(story: Counterexample, runs: Sequence[Run]) -> str:
    """Where the first run that did not break the claim left the story."""
    odd = next((run for run in runs if run.verdicts[story.claim].verdict != VIOLATED), None)
    if odd is None:
        return ""
    if story.needs_an_order:
        return "; it needs messages that overtake each other: no real machine can be told to do that"
    left = divergence(api.simulate(story.scenario, story.core_schedule()).record, odd)
    return f"; live {left}" if left is not None else "; live every step happens, and the claim is not broken"


def _confirmed(verdict: ClaimVerdict, story: Counterexample, runs: Sequence[Run], control: Run) -> ClaimVerdict:
    """A story the search found: how often did it show?"""
    seen = broken(verdict.scope, runs)
    explanation = verdict.explanation
    if seen == 0:
        explanation += "; in the model only: not reproduced on the real broker"
    explanation += why_not(story, runs)
    if story.scenario.core.faults and control.verdicts[verdict.scope].verdict == VIOLATED:
        explanation += "; the real broker breaks it without any fault, too"
    return replace(verdict, reproduced=Reproduced(seen, len(runs)), explanation=explanation)


def _not_seen(verdict: ClaimVerdict, runs: Sequence[Run]) -> ClaimVerdict:
    """A claim that no simulated schedule breaks: does the real broker break it? Costs are judged without faults."""
    looked_at = runs[:1] if has_value(verdict.claim) else runs
    said = [run.verdicts[verdict.scope] for run in looked_at]
    odd = [v for v in said if v.verdict == VIOLATED]
    decided = [v for v in said if v.verdict != UNDECIDED]
    seen = Reproduced(len(odd), len(said))
    if odd:
        explanation = f"on the real broker only: {odd[0].explanation}"
        return replace(verdict, verdict=VIOLATED, explanation=explanation, value=odd[0].value, reproduced=seen)
    if verdict.verdict == HOLDS and len(decided) < len(said):
        reason = next(v.explanation for v in said if v.verdict == UNDECIDED)
        return replace(verdict, verdict=UNDECIDED, explanation=f"live: {reason}", reproduced=seen)
    value = said[0].value if said else verdict.value
    return replace(verdict, value=value, reproduced=seen)
