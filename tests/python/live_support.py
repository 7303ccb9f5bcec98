"""What the live tests share: small scenarios, and a run's rows by name."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from mqlab import _core
from mqlab.live.controller import LiveRun, run_live
from mqlab.live.worker import Files, describe, worker_program

KIND = {name: number for number, name in enumerate(_core.KINDS)}
PHASE = {name: number for number, name in enumerate(_core.PHASES)}

NATS = """
name = "copy"
[broker]
kind = "nats"
nodes = {nodes}
[[streams]]
name = "requests"
replicas = {nodes}
[[streams]]
name = "answers"
replicas = {nodes}
[workload]
stream = "requests"
rate = "400/s"
messages = 60
size = "200B"
keys = {{ kind = "round_robin", count = 5 }}
[[stages]]
name = "embed"
module = "stage"
instances = 2
input = "requests"
output = "answers"
service_time = "2ms"
consumer = {{ ack_wait = "1s" }}
[[observers]]
name = "billing"
stream = "answers"
[claims]
no_loss = {{ of = "requests", in = "answers" }}
[limits]
live_timeout = "{timeout}"
"""

KAFKA = """
name = "copy"
[broker]
kind = "kafka"
nodes = {nodes}
properties = {{ {broker} }}
[[topics]]
name = "requests"
partitions = 2
replication = {nodes}
[[topics]]
name = "answers"
partitions = 2
replication = {nodes}
[workload]
topic = "requests"
rate = "300/s"
messages = 40
size = "200B"
keys = {{ kind = "round_robin", count = 5 }}
producer = {{ "linger.ms" = 5, "acks" = "all", "socket.timeout.ms" = 2000 }}
[[stages]]
name = "embed"
module = "{module}"
instances = 2
input = "requests"
output = "answers"
service_time = "1ms"
[stages.consumer]
"session.timeout.ms" = 2000
"heartbeat.interval.ms" = 500
"auto.offset.reset" = "earliest"
"enable.auto.commit" = false
[stages.producer]
{producer}
"socket.timeout.ms" = 2000
[[observers]]
name = "billing"
topic = "answers"
consumer = {{ "isolation.level" = "read_uncommitted" }}
[claims]
no_loss = {{ of = "requests", in = "answers" }}
[limits]
live_timeout = "60s"
"""


def nats(nodes: int = 1, timeout: str = "30s") -> str:
    return NATS.format(nodes=nodes, timeout=timeout)


def kafka(nodes: int = 1, module: str = "stage", transactional: bool = False) -> str:
    producer = '"transactional.id" = "embed-{instance}"\n"transaction.timeout.ms" = 10000' if transactional else ""
    broker = '"group.min.session.timeout.ms" = 500' + (', "min.insync.replicas" = 2' if nodes > 1 else "")
    return KAFKA.format(nodes=nodes, module=module, producer=producer, broker=broker)


def fault(action: str, step: str, *, process: str = "embed", heal: str = "300ms", **more: Any) -> dict[str, Any]:
    """A fault at an application step; `target` goes to the fault, `nth` and `message` to the anchor."""
    at = {"process": process, "step": step, **{key: more.pop(key) for key in ("nth", "message") if key in more}}
    return {"at": at, "action": action, "heal": heal, **more}


class Rows:
    """A live run's rows, asked by names."""

    def __init__(self, run: LiveRun) -> None:
        self.run, self.rows = run, run.rows
        self.described = describe(Files(run.folder / "scenario.toml", None))
        self.names = [process["name"] for process in self.described["processes"]]

    def of(self, kind: str, phase: str = "ok", process: str = "") -> np.ndarray[Any, Any]:
        """Rows of one kind and phase, of one process or of a group's."""
        mask = (self.rows["kind"] == KIND[kind]) & (self.rows["phase"] == PHASE[phase])
        if process:
            mask &= np.isin(self.rows["process"], [n for n, name in enumerate(self.names) if name.startswith(process)])
        found: np.ndarray[Any, Any] = self.rows[mask]
        return found

    def audited(self, topic: str) -> Counter[int]:
        """How often each message is stored in a topic or stream."""
        places = [n for n, place in enumerate(self.described["places"]) if place.split("/")[0] == topic]
        records = self.of("audit")
        records = records[(records["op"] == 0) & np.isin(records["place"], places)]
        return Counter(records["message"].tolist())


def replays(run: LiveRun) -> None:
    """Every worker's transcript, led through a fresh module, gives the rows it wrote, by a port that kept its rules."""
    for file in run.files[:-1]:
        name, incarnation, _ = file.name.split(".")
        done = subprocess.run(
            [
                worker_program(), "--replay", "--scenario", str(run.folder / "scenario.toml"), "--process", name,
                "--incarnation", incarnation, "--seed", "1", "--rows", str(file),
                "--transcript", str(file.with_suffix(".transcript")),
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        compared = json.loads(done.stdout)
        assert done.returncode == 0, compared
        assert compared["equal"] == compared["rows"] > 0
        assert compared["port"] == ""


def live(scenario: str, folder: Path, faults: list[dict[str, Any]] | None = None, **more: Any) -> Rows:
    """A run that is expected to be whole."""
    run = run_live(scenario, 1, faults if faults is not None else [], folder, **more)
    assert run.problems == []
    assert run.quiet
    assert run.reached
    return Rows(run)
