"""What the tests of the package share: a scenario small enough to read, and the command line as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mqlab
import numpy as np
from mqlab import _core
from mqlab.history import KIND, PHASE, History

ROOT = Path(__file__).resolve().parents[2]

SCENARIO = """\
name = "embedder"
question = "Is every request embedded exactly once when a worker dies?"

[broker]
kind = "kafka"
version = "4.1"

[client]
flavour = "librdkafka"

[[topics]]
name = "requests"
partitions = 2

[[topics]]
name = "vectors"
partitions = 2

[workload]
name = "api"
topic = "requests"
rate = "1000/s"
messages = 20
keys = { kind = "round_robin", count = 4 }

[[stages]]
name = "embed"
module = "stage"
instances = 2
input = "requests"
output = "vectors"
consumer = { "group.id" = "embed", "auto.offset.reset" = "earliest" }

[[observers]]
name = "billing"
topic = "vectors"
consumer = { "auto.offset.reset" = "earliest" }

[faults]
menu = ["kill"]

[claims]
no_loss = { of = "requests", in = "vectors" }
no_duplicates = { of = "requests", in = "vectors" }
"latency.p50" = { at_most = "60s" }
"""


@dataclass(frozen=True)
class Called:
    """What a command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


def call(*arguments: object, cwd: Path | None = None, timeout: float = 240, **environment: str) -> Called:
    """`mqlab ARGUMENTS` in a process of its own, as a user runs it."""
    command = [sys.executable, "-m", "mqlab.cli.main", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False,
        env=os.environ | environment,
    )  # fmt: skip
    return Called(done.returncode, done.stdout, done.stderr)


class Rows:
    """Builds a history row by row, by names."""

    def __init__(self, scenario: mqlab.Scenario) -> None:
        self.scenario = scenario
        empty = History(scenario, np.zeros(0, _core.ROW))
        self._process = {name: number for number, name in enumerate(empty.processes)}
        self._place = {name: number for number, name in enumerate(empty.places)}
        self._rows: list[np.ndarray] = []

    def add(self, time_us: int, process: str, kind: str, phase: str = "ok", place: str = "", **fields: int) -> int:
        """Returns the row's index."""
        row = np.zeros(1, _core.ROW)
        row["time"] = time_us * 1000
        row["process"] = self._process[process]
        row["kind"], row["phase"] = KIND[kind], PHASE[phase]
        row["place"] = self._place[place] if place else _core.NO_PLACE
        row["position"] = -1
        for name, value in fields.items():
            row[name] = value
        self._rows.append(row)
        return len(self._rows) - 1

    def history(self) -> History:
        return History(self.scenario, np.concatenate(self._rows))
