"""One run of a scenario, in either world: its history, its verdicts, its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqlab import result
from mqlab.errors import HistoryError
from mqlab.history import History, read_parquet
from mqlab.input_text import as_written
from mqlab.measure import Latency, Measures
from mqlab.refusals import refusals
from mqlab.scenario import Scenario, load
from mqlab.verdicts import SCHEMA, ClaimVerdict, Verdicts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass
class Run:
    """What `mqlab.run` gives. `verdicts` are over this one run; nothing was searched."""

    scenario: Scenario
    world: str  # sim | live
    seed: int
    record: History  # the rows, as NumPy records
    verdicts: Verdicts
    hash: str  # of the history: equal runs have equal hashes
    details: Mapping[str, Any] = field(default_factory=dict)  # of the environment: versions that ran
    faults_reached: bool = True  # every fault that was spelled out was carried out
    folder: Path | None = None  # where it was saved

    @cached_property
    def history(self) -> pd.DataFrame:
        """The rows as a data frame; columns as in docs/history.md, times in nanoseconds since the run began."""
        return self.record.to_frame()

    @cached_property
    def measures(self) -> Measures:
        return Measures(self.record)

    @property
    def latency(self) -> Latency:
        """From the intended send to the pipeline's end; requests without an answer count as ∞."""
        return self.measures.end_to_end

    @property
    def refused(self) -> list[str]:
        """Who was not let into a consumer group, and why, in sentences."""
        return refusals(self.record)

    @property
    def throughput(self) -> float:
        """Requests per second at the pipeline's end."""
        return self.measures.throughput

    def save(self, folder: str | Path) -> Path:
        """Writes the result folder. It appears whole or not at all: raises BrokerError with the reason if not."""
        target = Path(folder)
        about = {"world": self.world, "seed": str(self.seed), "hash": self.hash}
        with result.new_folder(target) as scratch:
            (scratch / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
            environment = result.environment(self.scenario, self.world, self.seed, self.details)
            result.write_json(scratch / "environment.json", environment)
            result.write_json(scratch / "result.json", self.result_document())
            result.write_json(scratch / "verdicts.json", self.verdicts.document())
            self.record.write_parquet(scratch / "history.parquet", about)
            result.write_latency(scratch / "latency.hdr", self.latency)
        self.folder = target
        return target

    def result_document(self) -> dict[str, Any]:
        more = {
            "world": self.world,
            "seed": self.seed,
            "hash": self.hash,
            "rows": len(self.record),
            "faults_reached": self.faults_reached,
            "refused": self.refused,
        }
        return result.result_document(self.measures, self.scenario, more)

    def plot(self) -> Figure:
        """Latency of every request over the run, and its distribution."""
        from mqlab import plots

        return plots.latency_of([self])


_OF_ALL_RUNS = {
    "mqlab",
    "revision",
    "world",
    "seed",
    "client",
    "brokers",
    "python",
    "machine",
    "system",
    "processors",
}


def read_run(folder: str | Path) -> Run:
    """A run from its result folder. Raises HistoryError when the folder is not a whole one."""
    path = Path(folder)
    missing = [name for name in result.FILES if not (path / name).is_file()]
    if missing:
        raise HistoryError(f"{path} is no result folder: {', '.join(missing)} is missing")
    scenario = load(path / "scenario.toml")
    with as_written(path / "environment.json"):
        environment = result.read_json(path / "environment.json")
        details = {key: value for key, value in environment.items() if key not in _OF_ALL_RUNS}
        world, seed = str(environment["world"]), int(environment["seed"])
    with as_written(path / "result.json"):
        summary = result.read_json(path / "result.json")["mqlab"]
        hashed, reached = str(summary["hash"]), bool(summary["faults_reached"])
    with as_written(path / "verdicts.json"):
        verdicts = _read_verdicts(path / "verdicts.json")
    return Run(
        scenario=scenario,
        world=world,
        seed=seed,
        record=read_parquet(path / "history.parquet", scenario),
        verdicts=verdicts,
        hash=hashed,
        faults_reached=reached,
        details=details,
        folder=path,
    )


def _read_verdicts(path: Path) -> Verdicts:
    document = result.read_json(path)
    if document.get("schema") != SCHEMA:
        raise HistoryError(f"{path} is not of schema {SCHEMA}")
    claims = tuple(ClaimVerdict.of_document(claim) for claim in document["claims"])
    brokers = tuple((broker["kind"], broker["version"]) for broker in document["brokers"])
    return Verdicts(claims, document["scenario"], document["world"], document["client"], document["seed"], brokers)
