"""One run of a scenario on a real broker: the live world."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from mqlab.errors import BrokerError
from mqlab.live.brokers import start_cluster
from mqlab.live.cluster import Cluster, ClusterSpec
from mqlab.live.engine import Clock, Engine, Life, worker_files
from mqlab.live.processes import Child
from mqlab.live.rest import BrokerState, Rest
from mqlab.live.row_files import ControlPage, RowFile, Rows, merged
from mqlab.live.surroundings import CannotRunLive, surroundings_of
from mqlab.live.usage import UsageWatch
from mqlab.live.worker import Files, Probe, describe, lab_arguments, remove, worker_command

_READY_SECONDS = 30.0
_TURN_SECONDS = 0.05


@dataclass
class LiveRun:
    """What one live run left."""

    rows: Rows  # of all processes, by time
    files: list[Path]  # row files of every incarnation, the auditor's last
    problems: list[str]  # why the history is not whole: no claim may hold then
    faults_carried_out: list[int]  # numbers of the faults that fired
    faults: int  # how many there were
    quiet: bool  # it came to rest before time was up
    client: str  # "librdkafka 2.0.2"
    broker: str  # version that ran
    seconds: dict[str, float] = field(default_factory=dict)  # how long each part took
    folder: Path = Path()

    @property
    def reached(self) -> bool:
        """Every fault of the schedule was carried out."""
        return len(self.faults_carried_out) == self.faults


# Settings that no broker has.
_SIMULATED_ONLY = {
    "mqlab.known.bugs": "faults of other brokers",
    "peer_remove_after": "an operator who removes servers",
}


def cluster_spec(described: Mapping[str, Any]) -> ClusterSpec:
    """The cluster that a described scenario asks for. Raises CannotRunLive when it asks for several."""
    brokers = described["brokers"]
    if len(brokers) != 1:
        raise CannotRunLive("a scenario with several brokers: the live world runs one")
    one = brokers[0]
    if one["quotas"] and described["address"]:
        raise CannotRunLive("quotas: those of a cluster of your own are left as they are")
    for setting, reason in _SIMULATED_ONLY.items():
        if one["properties"].get(setting):
            raise CannotRunLive(f"{setting}: {reason}, in the simulated world only")
    return ClusterSpec(
        one["kind"], one["version"], one["nodes"], one["properties"], one["name"],
        surroundings=surroundings_of(
            described["faults"], described["processes"], external=bool(described["address"])
        ),
        address=described["address"],
    )  # fmt: skip


def write_files(folder: Path, scenario_toml: str, faults: Sequence[Mapping[str, Any]] | None) -> Files:
    """The scenario and its faults as workers read them."""
    folder.mkdir(parents=True, exist_ok=True)
    scenario = folder / "scenario.toml"
    scenario.write_text(scenario_toml)
    if faults is None:
        return Files(scenario, None)
    path = folder / "faults.toml"
    # [[fault]] tables, whatever their length: an inline list at the end of a file would belong to its last table.
    tables = (tomli_w.dumps({"fault": dict(fault)}).replace("[fault]", "[[fault]]", 1) for fault in faults)
    path.write_text("\n".join(tables))
    return Files(scenario, path)


def run_live(
    scenario_toml: str,
    seed: int,
    faults: Sequence[Mapping[str, Any]] | None = None,
    out_dir: str | Path = "runs/live",
    cluster: Cluster | None = None,
    timeout: float | None = None,
    *,
    masked: Sequence[int] = (),
    tag: str = "",
    transcripts: bool = False,
) -> LiveRun:
    """Runs a scenario once on a real broker.

    `faults`: tables of the [[fault]] grammar, in order; None: the scenario's own. `cluster`: one that runs already,
    then give a `tag` that no other run on it had, else one is started and stopped. `timeout`: seconds until the run
    gives up waiting for rest (default: the scenario's limits.live_timeout). Raises BrokerError when the environment
    fails, CannotRunLive for a fault that only the simulation can do. Leaves nothing running.
    """
    folder = Path(out_dir).resolve()
    files = write_files(folder, scenario_toml, faults)
    described = describe(files)
    seconds = timeout if timeout is not None else described["live_timeout"] / 1e9
    run = _Run(folder, files, described, seed, tag, list(masked), transcripts)
    if cluster is not None:
        return run.on(cluster, seconds)
    with start_cluster(cluster_spec(described), folder / "broker") as own:
        return run.on(own, seconds)


class _Run:
    def __init__(
        self, folder: Path, files: Files, described: dict[str, Any], seed: int, tag: str, masked: list[int],
        transcripts: bool,
    ) -> None:  # fmt: skip
        self.folder, self.files, self.described, self.seed = folder, files, described, seed
        self.tag, self.masked, self.transcripts = tag, masked, transcripts
        stages = tomllib.loads(files.scenario.read_text()).get("stages", [])
        self.modules = {stage["name"]: stage["module"] for stage in stages}
        self.workers = folder / "workers"
        shutil.rmtree(self.workers, ignore_errors=True)
        self.workers.mkdir(parents=True)
        self.numbers = {process["name"]: number for number, process in enumerate(described["processes"])}

    def on(self, cluster: Cluster, seconds: float) -> LiveRun:
        self.tag = "-".join(part for part in (cluster.prefix, self.tag) if part)
        timing = {"broker": cluster.started_in}
        self.cluster = cluster
        self.clock = Clock()
        self.audit_file = self.workers / "auditor.rows"
        control = ControlPage(self.workers / "control")
        warm = ["--warm"] if cluster.warm else []
        probe = Probe(
            [*self._arguments(), "--rows", str(self.audit_file), *warm, *self._patience()],
            self.workers / "probe.log",
            cluster.inside,
        )
        self.fault_probe = self._probe_of_faults()
        engine = Engine(self.described, cluster, control, self.clock, self._start_worker, self._ask_broker)
        state = BrokerState(probe, self.clock)
        try:
            self.client = self._set_up(probe, cluster)
            timing["setup"] = self.clock.now() / 1e9
            quiet = self._lead(engine, state, seconds, timing)
            audit = self._audit(engine, state)
            timing["end"] = self.clock.now() / 1e9
            cluster.warm = cluster.warm or (quiet and self._transactional())
            return self._collect(engine, audit, quiet, timing)
        finally:
            engine.stop_everything()
            state.close()
            if self.fault_probe is not None:
                self.fault_probe.close()
            control.close()
            if cluster.disposable:
                remove(self.files, cluster, self.tag)

    def _transactional(self) -> bool:
        return any(stage["transactional"] for stage in self.described["stages"])

    def _set_up(self, probe: Probe, cluster: Cluster) -> str:
        try:
            answer = probe.ask("setup", cluster.patience + 30.0)
        except BrokerError:
            cluster.check()  # a node that ended is the better reason
            raise
        if "error" in answer:
            cluster.check()
            raise BrokerError(f"{cluster.spec.kind} is not ready: {answer['error']}")
        cluster.set_quotas(self.described["brokers"][0]["quotas"])
        cluster.settle()
        return str(answer["client"])

    # ---- workers ----

    def _arguments(self) -> list[str]:
        clock = ["--epoch-ns", str(self.clock.epoch_ns), "--wall-epoch-ns", str(self.clock.wall_epoch_ns)]
        return [
            *lab_arguments(self.files, self.cluster, self.tag),
            "--seed",
            str(self.seed),
            *clock,
            *self._store(),
        ]

    def _patience(self) -> list[str]:
        return ["--patience-ms", str(int(self.cluster.patience * 1000))]

    def _store(self) -> list[str]:
        stores = any(topic["store"] for topic in self.described["topics"])
        return ["--store", str(self.workers / "store.sqlite")] if stores else []

    def _start_worker(self, process: int, incarnation: int, watcher: Any) -> Life:
        info = self.described["processes"][process]
        rows, requests, log = worker_files(self.workers, info["name"], incarnation)
        command = [
            *worker_command(self.modules.get(info["group"], "")), *self._arguments(),
            "--process", info["name"], "--incarnation", str(incarnation),
            "--rows", str(rows), "--control", str(self.workers / "control"),
        ]  # fmt: skip
        if self.masked:
            command += ["--masked", ",".join(map(str, self.masked))]
        if self.transcripts:
            command += ["--transcript", str(rows.with_suffix(".transcript"))]
        command = self.cluster.inside(command, process)
        child = Child(info["name"], command, log=log, guarded=False, cwd=self.workers, watcher=watcher)
        file = RowFile(rows)
        return Life(process, info["name"], info["role"], incarnation, child, file, [file, RowFile(requests)])

    def _probe_of_faults(self) -> Probe | None:
        asks = any(fault["leader_of"] is not None or fault["grown"] is not None for fault in self.described["faults"])
        return Probe(self._arguments(), self.workers / "faults.log", self.cluster.inside) if asks else None

    def _ask_broker(self, question: str) -> dict[str, Any]:
        return {} if self.fault_probe is None else self.fault_probe.ask(question, 10.0)

    # ---- the course of the run ----

    def _lead(self, engine: Engine, state: BrokerState, seconds: float, timing: dict[str, float]) -> bool:
        for number, process in enumerate(self.described["processes"]):
            if process["role"] in ("stage", "observer", "workload") and not process["spare"]:
                engine.start(number)
        state.start()
        self.usage = UsageWatch(engine, self.cluster, self.described, self.numbers["lab"])
        rest = Rest(engine, self.described, state)
        self._until(rest.ready, engine, state, _READY_SECONDS)
        timing["ready"] = self.clock.now() / 1e9
        engine.begin(self.clock.now() + 20_000_000)
        quiet = self._until(rest.at_rest, engine, state, seconds)
        timing["quiet"] = self.clock.now() / 1e9
        if quiet:
            engine.row(self.numbers["lab"], "quiet")
        else:
            engine.row(self.numbers["lab"], "quiet", "fail", flags=32)
            engine.problems.append(f"not at rest after {seconds:.0f} s: {rest.why_not()}")
        return quiet

    def _until(self, condition: Any, engine: Engine, state: BrokerState, seconds: float) -> bool:
        latest = self.clock.now() + int(seconds * 1e9)
        while not condition():
            if self.clock.now() >= latest:
                return False
            engine.turn(_TURN_SECONDS)
            self.usage.look(state)
            if state.problem:
                raise BrokerError(state.problem)
        return True

    def _audit(self, engine: Engine, state: BrokerState) -> RowFile:
        """The auditor reads what is stored. A place it cannot read shows in its rows."""
        answer = state.stop_asking().ask("audit", 120.0)
        problem = answer.get("error") or answer.get("audit")
        if problem:
            engine.problems.append(f"the audit failed: {problem}")
        return RowFile(self.audit_file)

    def _collect(self, engine: Engine, audit: RowFile, quiet: bool, timing: dict[str, float]) -> LiveRun:
        engine.stop_everything()
        parts, paths = [], []
        for life in engine.lives:
            whole = [file.problem(life.killed) for file in life.files if file is life.rows or file.path.exists()]
            engine.problems += [problem for problem in whole if problem]
            parts += life.all_rows()
            paths.append(life.rows.path)
        problem = audit.problem(False)
        if problem:
            engine.problems.append(problem)
        return LiveRun(
            rows=merged([*parts, *engine.rows, audit.all_rows()]), files=[*paths, audit.path],
            problems=engine.problems, faults_carried_out=engine.carried_out, faults=len(engine.faults), quiet=quiet,
            client=self.client, broker=self.cluster.server_version, seconds=timing, folder=self.folder,
        )  # fmt: skip
