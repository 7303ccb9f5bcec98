"""The package's functions. Each works alike for both worlds where that has a meaning."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import overload

from mqlab import _core, result, search
from mqlab.comparison import Comparison
from mqlab.counterexample import Counterexample, read_counterexample
from mqlab.history import History
from mqlab.runs import Run
from mqlab.scenario import Scenario
from mqlab.verdicts import Verdicts, over_one_run

Note = Callable[[str], None]  # is told, in a line, what is being done


def run(scenario: Scenario, world: str = "sim", seed: int = 1, progress: Note | None = None) -> Run:
    """One run of a scenario: its history, its verdicts, its cost.

    `world`: "sim", or "live" for a real broker started here, on loopback only. `seed`: of every random draw.
    Raises ScenarioError for what cannot be run, BrokerError when the environment fails.
    """
    schedule = _core.Schedule(seed)
    if world == "sim":
        return simulate(scenario, schedule)
    if world != "live":
        raise ValueError(f"a world is sim or live, not {world!r}")
    from mqlab.live_run import live_world

    with live_world() as real:
        _say(progress, f"{scenario.name}: live run on {scenario.core.brokers[0].kind}")
        return real.run(scenario, schedule)


def replay(
    story: Counterexample | str | os.PathLike[str],
    world: str = "sim",
    times: int = 1,
    progress: Note | None = None,
) -> list[Run]:
    """Runs a stored story `times` over: the same faults at the same points, the same few requests."""
    found = story if isinstance(story, Counterexample) else read_counterexample(Path(story))
    if world == "sim":
        return [simulate(found.scenario, found.core_schedule())] * times  # it repeats itself to the bit
    from mqlab.live_run import live_world

    with live_world() as real:
        return real.series(found, times, progress)


def simulate(scenario: Scenario, schedule: _core.Schedule) -> Run:
    """One simulated run under a schedule."""
    if scenario.core.shared_links:
        from mqlab import simgrid

        over = simgrid.simulate(scenario, schedule)
        rows, findings, number, reached = (
            over.rows,
            _core.check(scenario.core, over.rows),
            over.hash,
            over.faults_reached,
        )
    else:
        done = _core.simulate(scenario.core, schedule)
        rows, findings, number, reached = done.rows, done.findings, done.hash, done.faults_reached
    record = History(scenario, rows)
    verdicts = over_one_run(scenario, findings, world="sim", client=scenario.core.flavour, seed=schedule.seed)
    return Run(scenario, "sim", schedule.seed, record, verdicts, f"{number:016x}", faults_reached=reached)


def _say(progress: Note | None, text: str) -> None:
    if progress is not None:
        progress(text)


def verify(
    scenario: Scenario,
    *,
    schedules: int = 2000,
    seconds: float | None = None,
    jobs: int | None = None,
    seed: int = 1,
    claims: Sequence[str] = (),
    world: str = "sim",
    times: int = 5,
    out: str | os.PathLike[str] | None = None,
    exhaustive: bool = False,
    progress: search.Progress | None = None,
    note: Note | None = None,
) -> Verdicts:
    """Searches for schedules that break the scenario's claims.

    Ends after `schedules`, or after `seconds` of wall time where that is given and comes first. `jobs`: threads,
    one a core by default; the verdicts do not depend on it. `claims`: ids to check; empty for all. Each violation
    is shrunk and stored in the folder `out` (default: runs/NAME-verify) with its picture. With world="live" the
    search is followed by `times` runs of each story on the real broker; for claims that no story breaks, of the
    scenario without faults and with faults of its menu. `exhaustive`: instead every order in which messages in
    flight can arrive and every moment of a fault; `searched["exhaustive"]["complete"]` says whether all was seen.
    """
    folder = Path(out) if out is not None else Path("runs") / f"{scenario.name}-verify"
    verdicts = search.verify(
        scenario,
        schedules=schedules,
        seconds=seconds,
        jobs=jobs or os.cpu_count() or 1,
        seed=seed,
        claims=claims,
        out=folder,
        exhaustive=exhaustive,
        progress=progress,
    )
    if world == "live":
        from mqlab import confirm

        verdicts = confirm.on_real_broker(scenario, verdicts, times=times, note=note, keep=folder / "live")
        with result.disk(folder):
            result.write_json(folder / "verdicts.json", verdicts.document())
    return verdicts


@overload
def compare(a: Scenario, *, seed: int = 1, progress: Note | None = None) -> Comparison: ...
@overload
def compare(a: Run, b: Run) -> Comparison: ...
def compare(a: Scenario | Run, b: Run | None = None, *, seed: int = 1, progress: Note | None = None) -> Comparison:
    """Both worlds of one scenario, run here; or two runs. Per quantile and per claim."""
    if isinstance(a, Run):
        if b is None:
            raise TypeError("compare takes one scenario, or two runs")
        return Comparison(a, b)
    return Comparison(run(a, "sim", seed), run(a, "live", seed, progress))
