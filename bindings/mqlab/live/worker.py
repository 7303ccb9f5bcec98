"""The worker executable: where it is, what it says about a scenario, and the lab's questions to a broker."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqlab.errors import BrokerError
from mqlab.live.cluster import Cluster
from mqlab.live.processes import Child


def worker_program() -> str:
    """`$MQLAB_WORKER`, else the one installed with the package. Raises BrokerError."""
    installed = Path(__file__).resolve().parents[1] / "bin" / "mqlab-worker"
    program = Path(os.environ.get("MQLAB_WORKER") or installed)
    if not program.is_file():
        raise BrokerError(f"{program} is missing: this build has no live world")
    return str(program)


def worker_command(module: str) -> list[str]:
    """What runs a process with this module: the executable, or an interpreter for one written in Python."""
    return [sys.executable, "-m", "mqlab.worker"] if ".py:" in module else [worker_program()]


@dataclass(frozen=True)
class Files:
    """A scenario as the workers read it: complete TOML, and the faults in place of its own."""

    scenario: Path
    faults: Path | None

    def arguments(self) -> list[str]:
        faults = [] if self.faults is None else ["--faults", str(self.faults)]
        return ["--scenario", str(self.scenario), *faults]


def describe(files: Files) -> dict[str, Any]:
    """Processes, places, faults by number. Raises BrokerError with the worker's line where it refuses."""
    done = subprocess.run(
        [worker_program(), "--describe", *files.arguments()], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BrokerError(done.stderr.strip().removeprefix("mqlab-worker: ") or "mqlab-worker failed")
    described: dict[str, Any] = json.loads(done.stdout)
    return described


def remove(files: Files, cluster: Cluster, tag: str, seconds: float = 30.0) -> None:
    """Deletes what set_up() made, as far as the cluster can be reached."""
    command = [worker_program(), "--remove", *lab_arguments(files, cluster, tag)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            cluster.inside(command), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=seconds
        )


def lab_arguments(files: Files, cluster: Cluster, tag: str) -> list[str]:
    named = ["--tag", tag] if tag else []
    return [*files.arguments(), cluster.address_option, cluster.address, *named]


def set_up(files: Files, cluster: Cluster, tag: str, seconds: float) -> str:
    """Makes the topics and does a real round trip; returns the client library's version. Raises BrokerError."""
    command = [
        worker_program(),
        "--setup",
        *lab_arguments(files, cluster, tag),
        "--patience-ms",
        str(int(seconds * 1000)),
    ]
    try:
        done = subprocess.run(
            cluster.inside(command), capture_output=True, text=True, check=False, timeout=seconds + 30
        )
    except subprocess.TimeoutExpired:
        cluster.check()
        raise BrokerError(f"{cluster.spec.kind} was not ready within {seconds:.0f} s") from None
    if done.returncode != 0:
        cluster.check()
        raise BrokerError(
            done.stderr.strip().splitlines()[-1].removeprefix("mqlab-worker: ") if done.stderr else "set-up failed"
        )
    return str(json.loads(done.stdout)["client"])


class Probe:
    """A worker that answers questions about the broker, one at a time. One thread may use it."""

    def __init__(self, arguments: list[str], log: Path, inside: Callable[[list[str]], list[str]]) -> None:
        self.child = Child(
            "probe",
            inside([worker_program(), "--probe", *arguments]),
            log=log,
            guarded=False,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, question: str, seconds: float) -> dict[str, Any]:
        """{"error": …} when the broker could not be asked. Raises BrokerError when the probe is gone or silent."""
        stdin, stdout = self.child.popen.stdin, self.child.popen.stdout
        if stdin is None or stdout is None or not self.child.alive:
            raise BrokerError(f"the probe ended: {self.child.last_lines()}")
        try:
            stdin.write(question.encode() + b"\n")
            stdin.flush()
        except OSError:
            raise BrokerError(f"the probe ended: {self.child.last_lines()}") from None
        line = b""
        latest = time.monotonic() + seconds
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([stdout], [], [], max(0.0, latest - time.monotonic()))
            more = os.read(stdout.fileno(), 1 << 16) if ready else b""
            if not more:
                raise BrokerError(f"the broker could not be asked within {seconds:.0f} s")
            line += more
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """A question under way comes to its end too."""
        self.child.kill()

    def close(self) -> None:
        """When nobody is asking any more."""
        self.end()
        for pipe in (self.child.popen.stdin, self.child.popen.stdout):
            if pipe is not None:
                pipe.close()
