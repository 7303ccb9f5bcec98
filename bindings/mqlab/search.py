"""The search, from Python: verdicts out of its report, counterexamples on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mqlab import _core, result
from mqlab.conformance.concern import rests_on
from mqlab.counterexample import Counterexample, from_report
from mqlab.history import History
from mqlab.scenario import Scenario
from mqlab.verdicts import HOLDS, VIOLATED, ClaimVerdict, Verdicts, brokers_of, has_value

Progress = Callable[[int, int], None]  # schedules run, claims broken so far


def verify(
    scenario: Scenario,
    *,
    schedules: int,
    seconds: float | None,
    jobs: int,
    seed: int,
    claims: Sequence[str],
    out: Path,
    exhaustive: bool = False,
    progress: Progress | None = None,
) -> Verdicts:
    """See mqlab.verify. Stories of an earlier search in `out` are removed: none lingers beside new verdicts."""
    options = _core.SearchOptions(seed, schedules, seconds, jobs, list(claims))
    complete = None
    if exhaustive:
        report, complete = _core.verify_all(scenario.core, options, progress)
    else:
        report = _core.verify(scenario.core, options, progress)
    with result.disk(out):
        out.mkdir(parents=True, exist_ok=True)
        for old in (*out.glob("ce-*.toml"), *out.glob("ce-*.svg"), out / "verdicts.json"):
            old.unlink(missing_ok=True)
        verdicts = Verdicts(
            claims=_verdicts(scenario, report, out),
            scenario=scenario.name,
            world="sim",
            client=scenario.core.flavour,
            seed=seed,
            brokers=brokers_of(scenario),
            schedules=report.schedules,
            schedules_per_second=report.schedules / report.seconds if report.seconds > 0 else None,
            searched={
                "anchors": report.anchors,
                "anchors_reached": report.anchors_reached,
                "pairs": report.pairs,
                "pairs_total": report.pairs_total,
                "shapes": report.shapes,
                "shapes_over": [list(point) for point in report.shapes_over],
                "single_faults": report.systematic,
                "schedules_reached": report.reached,
                "seconds": report.seconds,
                "rounds": [_round(done) for done in report.rounds],
            }
            | ({} if complete is None else {"exhaustive": {"complete": complete}}),
        )
        result.write_json(out / "verdicts.json", verdicts.document())
    return verdicts


def _round(done: dict[str, Any]) -> dict[str, Any]:
    seconds = done["cpu_seconds"]
    return done | {"schedules_per_second": done["schedules"] / seconds if seconds > 0 else None}


def _verdicts(scenario: Scenario, report: _core.Report, out: Path) -> tuple[ClaimVerdict, ...]:
    verdicts: list[ClaimVerdict] = []
    stories = 0
    for claim in report.claims:
        story = None
        if claim.counterexample is not None:
            stories += 1
            path = out / f"ce-{stories}.toml"
            story = from_report(scenario, claim.claim.scope, claim.counterexample, path, claim.first_failing_schedule)
            _store(story, claim.counterexample)
        verdicts.append(_verdict(scenario, claim, story))
    return tuple(verdicts)


def _verdict(scenario: Scenario, claim: _core.ClaimReport, story: Counterexample | None) -> ClaimVerdict:
    found = claim.counterexample
    return ClaimVerdict(
        claim=claim.claim.id,
        scope=claim.claim.scope,
        verdict=claim.verdict,
        explanation=claim.explanation,
        expected=VIOLATED if claim.claim.expect_violated else HOLDS,
        observed=claim.observed,
        population=claim.judged,
        violations=claim.violations,
        value=claim.value if has_value(claim.claim.id) else None,
        witness=tuple(found.finding.witness) if found else (),
        first_failing_schedule=claim.first_failing_schedule,
        shrunk=(found.messages_before, found.messages_after) if found else None,
        story=story.story if story else (),
        causes=story.causes if story else (),
        counterexample=story,
        rests_on=rests_on(scenario),
        not_covered=tuple(_not_covered(scenario)),
    )


def _not_covered(scenario: Scenario) -> list[str]:
    """What a verdict of this search says nothing about."""
    core = scenario.core
    left_out = [action.replace("_", " ") for action in _core.ACTIONS if action not in core.menu and action != "restart"]
    own_code = [f"the code outside mqlab that `{stage.name}` stands for" for stage in core.stages[:1]]
    return left_out + own_code


def _store(story: Counterexample, found: _core.Counterexample) -> None:
    """The file, and the picture of the run it describes."""
    done = _core.simulate(story.scenario.core, story.core_schedule())
    story.write(History(story.scenario, done.rows), found.finding.witness, found.finding.explanation)
