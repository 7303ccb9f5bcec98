"""Live runs as the rest of the package sees them: a Run, judged by the same checkers as a simulated one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from mqlab import _core, result
from mqlab.counterexample import Counterexample
from mqlab.history import History
from mqlab.live import controller
from mqlab.live.brokers import start_cluster
from mqlab.live.cluster import Cluster
from mqlab.live.worker import describe
from mqlab.runs import Run
from mqlab.scenario import Scenario, toml_value
from mqlab.verdicts import HOLDS, UNDECIDED, Verdicts, over_one_run


class LiveWorld:
    """A place for live runs of one scenario: they share a broker while no fault has hit it."""

    def __init__(self, folder: Path, stack: ExitStack, keep: Path | None = None) -> None:
        self._folder, self._stack, self._keep = folder, stack, keep
        self._cluster: Cluster | None = None
        self._for = ""
        self._runs = 0

    def run(self, scenario: Scenario, schedule: _core.Schedule, name: str = "") -> Run:
        """One run; its history is kept under `name`. Raises BrokerError when the environment fails."""
        self._runs += 1
        folder = self._folder / f"run-{self._runs}"
        text = _placed(scenario).to_toml()
        cluster = self._ready(text, folder)
        done = controller.run_live(text, schedule.seed, None, folder, cluster, masked=schedule.masked, tag=self._tag())
        run = _judged(scenario, schedule.seed, done)
        if self._keep is not None and name:
            with result.disk(self._keep):
                self._keep.mkdir(parents=True, exist_ok=True)
                about = {"world": "live", "seed": str(schedule.seed), "hash": run.hash}
                run.record.write_parquet(self._keep / f"{name}.parquet", about)
        return run

    def series(
        self, story: Counterexample, times: int, note: Callable[[str], None] | None, name: str = "live"
    ) -> list[Run]:
        """A story, `times` over. `name`: of the histories that are kept."""
        runs = []
        for number in range(1, times + 1):
            if note is not None:
                note(f"{story.claim}: live run {number} of {times}")
            runs.append(self.run(story.scenario, story.core_schedule(), f"{story.path.stem}-{name}-{number}"))
        return runs

    def _tag(self) -> str:
        """What tells this run's topics and streams from other runs' on the same broker."""
        return f"r{self._runs}"

    def _ready(self, text: str, folder: Path) -> Cluster:
        """The cluster of the run before, if it is the one wanted and unhurt; else a fresh one."""
        described = describe(controller.write_files(folder, text, None))
        spec = controller.cluster_spec(described)
        if self._cluster is not None and (self._cluster.dirty or self._for != repr(spec)):
            self._cluster.stop()
            self._cluster = None
        if self._cluster is None:
            self._cluster = start_cluster(spec, self._folder / f"broker-{self._runs}")
            self._stack.callback(self._cluster.stop)
            self._for = repr(spec)
        return self._cluster


@contextmanager
def live_world(keep: Path | None = None) -> Iterator[LiveWorld]:
    """Everything that was started is stopped at the end, and every file removed but the histories in `keep`."""
    with tempfile.TemporaryDirectory(prefix="mqlab-live-") as folder, ExitStack() as stack:
        yield LiveWorld(Path(folder), stack, keep)


def _placed(scenario: Scenario) -> Scenario:
    """Modules in files by their full path: the workers read the scenario from another folder."""
    if scenario.file.startswith("<"):
        return scenario
    base = Path(scenario.file).resolve().parent
    foreign = [stage for stage in scenario.core.stages if ".py:" in stage.module]
    return scenario.with_text([(f"stages.{s.name}.module", toml_value(str(base / s.module))) for s in foreign])


def _judged(scenario: Scenario, seed: int, done: controller.LiveRun) -> Run:
    findings = _core.check(scenario.core, done.rows)
    verdicts = over_one_run(scenario, findings, world="live", client=done.client, seed=seed)
    verdicts = replace(verdicts, brokers=tuple((kind, done.broker) for kind, _ in verdicts.brokers))
    if done.problems:
        verdicts = _doubted(verdicts, done.problems[0])
    details = {"broker_versions": [done.broker], "client_version": done.client, "seconds": done.seconds}
    return Run(
        scenario=scenario,
        world="live",
        seed=seed,
        record=History(scenario, done.rows),
        verdicts=verdicts,
        hash=f"{_core.hash_of(done.rows):016x}",
        details=details,
        faults_reached=done.reached,
    )


def _doubted(verdicts: Verdicts, problem: str) -> Verdicts:
    """Where observations are missing, nothing holds; what was seen broken stays so."""
    claims = tuple(
        replace(v, verdict=UNDECIDED, explanation=f"the history is not whole: {problem}") if v.verdict == HOLDS else v
        for v in verdicts
    )
    return replace(verdicts, claims=claims)
