"""The history of a run: one table, the same in both worlds. docs/history.md says what each row means."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mqlab import _core
from mqlab.errors import HistoryError
from mqlab.input_text import as_written
from mqlab.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

Rows = NDArray[np.void]
"""Rows as NumPy records of type `_core.ROW`: 80 bytes each, times in nanoseconds."""

SCHEMA = "mqlab.history/1"
_NUMBERS = (
    "time", "position", "aux", "digest", "op", "message", "cause", "key", "transaction", "epoch", "size", "trace",
    "incarnation", "attempt", "code", "flags",
)  # fmt: skip
_COLUMNS = (
    "time", "process", "incarnation", "kind", "phase", "op", "message", "cause", "key", "place", "position", "aux",
    "transaction", "epoch", "attempt", "code", "flags", "size", "digest", "trace",
)  # fmt: skip
KIND = {name: number for number, name in enumerate(_core.KINDS)}
PHASE = {name: number for number, name in enumerate(_core.PHASES)}
FLAG = _core.FLAGS


class History:
    """Rows in history order, with the scenario that gives their numbers names. `rows` shares the run's memory."""

    def __init__(self, scenario: Scenario, rows: Rows) -> None:
        self.scenario = scenario
        self.rows = rows
        self.topology = _core.Topology(scenario.core)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def processes(self) -> list[str]:
        return [process.name for process in self.topology.processes]

    @cached_property
    def places(self) -> list[str]:
        return [place.name for place in self.topology.places]

    def where(self, kind: str, phase: str | None = None) -> Rows:
        """The rows of one kind (and phase), in history order: a copy."""
        mask = self.rows["kind"] == KIND[kind]
        if phase is not None:
            mask &= self.rows["phase"] == PHASE[phase]
        found: Rows = self.rows[mask]
        return found

    def processes_of(self, role: str, group: str | None = None) -> list[int]:
        """Numbers of the processes with a role (workload, stage, observer …), of one group or of all."""
        return [
            number
            for number, process in enumerate(self.topology.processes)
            if process.role == role and group in (None, process.group)
        ]

    def to_frame(self) -> pd.DataFrame:
        """A data frame: a row each, in order. Names as categories, times in nanoseconds, no place as missing."""
        import pandas as pd

        def named(column: str, names: list[str] | tuple[str, ...]) -> Any:
            codes: NDArray[np.int64] = self.rows[column].astype(np.int64)
            codes[codes >= len(names)] = -1
            return pd.Categorical.from_codes(codes, categories=pd.Index(list(names)))

        columns: dict[str, Any] = {name: self.rows[name] for name in _COLUMNS}
        columns["process"] = named("process", self.processes)
        columns["place"] = named("place", self.places)
        columns["kind"] = named("kind", _core.KINDS)
        columns["phase"] = named("phase", _core.PHASES)
        return pd.DataFrame(columns)

    def write_parquet(self, path: Path, about: dict[str, str]) -> None:
        """Writes every row. `about` goes into the file's metadata; the scenario always does."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        def named(column: str, names: list[str] | tuple[str, ...]) -> Any:
            codes = self.rows[column].astype(np.int32)
            absent = self.rows[column] >= len(names)
            return pa.DictionaryArray.from_arrays(pa.array(codes, mask=absent), pa.array(list(names), pa.string()))

        arrays = {name: pa.array(np.ascontiguousarray(self.rows[name])) for name in _NUMBERS}
        arrays["process"] = named("process", self.processes)
        arrays["place"] = named("place", self.places)
        arrays["kind"] = named("kind", _core.KINDS)
        arrays["phase"] = named("phase", _core.PHASES)
        table = pa.table({name: arrays[name] for name in _COLUMNS})
        metadata = {
            "schema": SCHEMA,
            "scenario": self.scenario.to_toml(),
            "rows": str(len(self.rows)),
            **about,
        }
        pq.write_table(table.replace_schema_metadata(metadata), path, compression="zstd")


def read_parquet(path: Path, scenario: Scenario | None = None) -> History:
    """The history that `write_parquet` wrote. Raises HistoryError when the file is no whole history."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise HistoryError(f"{path} is no history: {str(error).splitlines()[0]}") from None
    with as_written(path):
        return _of_table(table, path, scenario)


def _of_table(table: Any, path: Path, scenario: Scenario | None) -> History:
    about = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    if about.get("schema") != SCHEMA:
        raise HistoryError(f"{path} is not of schema {SCHEMA}")
    if int(about["rows"]) != table.num_rows or set(table.column_names) != set(_COLUMNS):
        raise HistoryError(f"{path} has {table.num_rows} rows, not the {about['rows']} that were written")
    history = History(scenario or Scenario(about["scenario"], str(path)), np.zeros(table.num_rows, _core.ROW))
    for name in _NUMBERS:
        history.rows[name] = table[name].to_numpy()
    _numbers_back(table, history, "process", history.processes, _core.NO_PROCESS)
    _numbers_back(table, history, "place", history.places, _core.NO_PLACE)
    _numbers_back(table, history, "kind", list(_core.KINDS), 0)
    _numbers_back(table, history, "phase", list(_core.PHASES), 0)
    return history


def _numbers_back(table: Any, history: History, column: str, names: list[str], absent: int) -> None:
    """Names become this scenario's numbers again, whatever order the file's own dictionary has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = table[column].cast(pa.string())
    found = pc.index_in(plain, value_set=pa.array(names, pa.string()))
    unknown = plain.null_count != found.null_count
    if unknown:
        raise HistoryError(f"the history names a {column} that its scenario does not have")
    history.rows[column] = pc.fill_null(found.cast(pa.int64()), absent).to_numpy()
