"""Sweeps: a scenario run over every combination of settings, as a tidy table that survives an interruption."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqlab.errors import BrokerError, ScenarioError
from mqlab.result import read_json
from mqlab.scenario import Scenario, toml_value

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[int, int], None]  # cells done, cells in all
_PLAIN = (bool, int, float, str)  # what a column can hold; lists and tables go in as TOML text
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True)
class Cell:
    """One run of a sweep."""

    scenario: Scenario
    settings: tuple[tuple[str, Any], ...]
    world: str
    repeat: int
    seed: int

    @property
    def key(self) -> str:
        """Names the cell by all that decides its result."""
        whole = json.dumps([self.scenario.to_toml(), self.world, self.seed, self.repeat])
        return hashlib.sha256(whole.encode()).hexdigest()[:24]

    def run(self) -> dict[str, Any]:
        """The cell's row: settings, then what was measured (seconds, per second), then a verdict a claim."""
        from mqlab import api

        done = api.run(self.scenario, world=self.world, seed=self.seed)
        latency = done.latency
        return {
            **{path: value if isinstance(value, _PLAIN) else toml_value(value) for path, value in self.settings},
            "world": self.world,
            "repeat": self.repeat,
            "seed": self.seed,
            "requests": len(latency),
            "unanswered": latency.unanswered,
            "throughput": done.throughput,
            **{f"latency_{name}": latency.quantile(q) for name, q in _QUANTILES.items()},
            **{verdict.scope: verdict.verdict for verdict in done.verdicts},
            "hash": done.hash,
        }


def cells(
    scenario: Scenario, vary: Mapping[str, Sequence[Any]], repeats: int, worlds: Sequence[str], seed: int
) -> list[Cell]:
    """Every combination, the last setting varying fastest. Repeat r has seed + r, the same in every cell."""
    for path, values in vary.items():
        if not values:
            raise ScenarioError(scenario.file, 0, path, "no values to vary it over")
    planned = []
    for chosen in itertools.product(*vary.values()):
        settings = tuple(zip(vary, chosen, strict=True))
        changed = scenario.with_(dict(settings)) if settings else scenario
        for repeat, world in itertools.product(range(repeats), worlds):
            planned.append(Cell(changed, settings, world, repeat, seed + repeat))
    return planned


class Store:
    """Finished cells on disk, a file each, so that a sweep that was killed goes on where it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, cell: Cell) -> dict[str, Any] | None:
        path = self.folder / f"{cell.key}.json"
        if not path.is_file():
            return None
        row: dict[str, Any] = read_json(path)
        return {name: float("inf") if value == "inf" else value for name, value in row.items()}

    def save(self, cell: Cell, row: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{cell.key}.json"
        scratch = path.with_suffix(f".{os.getpid()}")
        plain = {name: "inf" if value == float("inf") else value for name, value in row.items()}
        scratch.write_text(json.dumps(plain), encoding="utf-8")
        scratch.replace(path)  # whole or not there


def sweep(
    scenario: Scenario,
    vary: Mapping[str, Sequence[Any]],
    *,
    repeats: int = 1,
    world: str = "sim",
    seed: int = 1,
    executor: Executor | None = None,
    jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Runs every combination of the settings; returns a tidy data frame, one row a run, in a fixed order.

    `vary`: setting path → values. `world`: sim, live or both. `executor`: any concurrent.futures.Executor; local
    processes by default, `jobs` of them. Live runs always go one after the other, here. `store`: a folder in which
    finished runs are kept; called again with it, only what is missing is run. Columns: the settings by path; world,
    repeat, seed; requests, unanswered, throughput (per second), latency_p50 … latency_max (seconds; ∞ where too
    many requests had no answer); a verdict a claim; the history's hash.
    """
    import pandas as pd

    planned = cells(scenario, vary, repeats, ("sim", "live") if world == "both" else (world,), seed)
    kept = Store(Path(store)) if store is not None else None
    rows: dict[int, dict[str, Any]] = {}
    for number, cell in enumerate(planned):
        if kept is not None and (row := kept.load(cell)) is not None:
            rows[number] = row
    for number, row in _run_missing(planned, rows.keys() ^ range(len(planned)), executor, jobs):
        if kept is not None:
            kept.save(planned[number], row)
        rows[number] = row
        if progress is not None:
            progress(len(rows), len(planned))
    return pd.DataFrame([rows[number] for number in range(len(planned))])


def _run_missing(
    planned: Sequence[Cell], missing: set[int], executor: Executor | None, jobs: int | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    simulated = [n for n in sorted(missing) if planned[n].world == "sim"]
    if simulated:
        with _ready(executor, min(jobs or os.cpu_count() or 1, len(simulated))) as pool:
            futures = {pool.submit(planned[n].run): n for n in simulated}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BrokenExecutor:
                raise BrokerError("a process of the sweep died (out of memory?); what was finished is kept") from None
    for n in sorted(missing):
        if planned[n].world == "live":
            yield n, planned[n].run()


@contextmanager
def _ready(executor: Executor | None, jobs: int) -> Iterator[Executor]:
    """The caller's executor, left open; or local processes, ended at once when the sweep is left early."""
    if executor is not None:
        yield executor
        return
    # Fresh interpreters: a fork would copy the threads' locks of the libraries loaded here.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Parquet, whole or not there."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(scratch)
    scratch.replace(path)
