"""Long commands in the simulated world: Ctrl-C ends them soon, with the reason and without leftovers."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest


def run_and_interrupt(arguments: list[str], cwd: Path, ready: Path) -> tuple[int, str, float]:
    """Starts a command, sends Ctrl-C once `ready` exists or its search uses the processor; code, stderr, seconds."""
    command = [sys.executable, "-m", "mqlab.cli.main", *arguments]
    with subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        watcher = psutil.Process(process.pid)
        while process.poll() is None and not ready.exists() and watcher.cpu_times().user < 2.0:
            pass
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    return process.returncode, complaint, time.monotonic() - began


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "embedder.toml", "--for", "10m", "--claim", "no_loss", "--out", "out"],
        ["sweep", "embedder.toml", "--vary", "workload.messages=20,21", "--repeats", "3000", "--out", "out/t.parquet"],
    ],
    ids=["verify", "sweep"],
)
def test_ctrl_c(arguments: list[str], scenario_file: Path) -> None:
    folder = scenario_file.parent
    code, complaint, seconds = run_and_interrupt(arguments, folder, folder / "out" / "t.parquet.cells")
    assert code == 4
    assert "interrupted" in complaint
    assert "Traceback" not in complaint
    assert seconds < 30
    assert not (folder / "out" / "verdicts.json").exists()
    assert not (folder / "out" / "t.parquet").exists()
