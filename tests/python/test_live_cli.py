"""The live world from the command line: stories on real brokers, both worlds side by side, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import mqlab
import psutil
import pytest
from support import ROOT, SCENARIO, call
from test_modules import NATS, scenario_with


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's live runs lie in its own folder: those of others on this machine are not its leftovers."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def leftovers(folder: Path) -> list[str]:
    """Brokers and workers of live runs below the folder that still run."""
    names = ("nats-server", "kafka.Kafka", "mqlab-worker", "mqlab.worker")
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if f"{folder}/mqlab-live-" in line and any(name in line for name in names):
            found.append(line)
    return found


@pytest.mark.parametrize(
    ("experiment", "claim", "code"),
    [
        ("nats-ack-wait", "no_duplicates", 1),
        ("nats-in-progress", "no_duplicates", 0),
        ("kafka-at-least-once", "no_duplicates", 1),
        ("kafka-at-most-once", "no_loss", 1),
    ],
)
def test_the_real_broker_breaks_what_the_model_breaks(experiment: str, claim: str, code: int, tmp_path: Path) -> None:
    called = call(
        "verify", ROOT / f"experiments/{experiment}.toml", "--schedules", 500, "--world", "live", "--times", 2,
        "--out", tmp_path, "--json",
    )  # fmt: skip
    assert called.code == code, called
    document = called.json
    assert document["world"] == "live"
    verdict = next(v for v in document["claims"] if v["claim"] == claim)
    assert verdict["reproduced"]["times"] == (2 if code else 0)
    assert leftovers(tmp_path) == []


def test_compare_both_worlds(tmp_path: Path) -> None:
    called = call("compare", ROOT / "experiments/nats-in-progress.toml", "--json", "--out", tmp_path / "both")
    assert called.code == 0, called
    document = called.json
    assert (document["a"]["world"], document["b"]["world"]) == ("sim", "live")
    assert all(claim["agree"] for claim in document["claims"])
    figures = {row["figure"]: row for row in document["figures"]}
    assert 0.5 < figures["end to end p50"]["ratio"] < 2
    assert call("compare", tmp_path / "both" / "sim", tmp_path / "both" / "live").code == 0


@pytest.mark.parametrize("text", [SCENARIO, NATS], ids=["kafka", "nats"])
def test_a_module_written_in_python_runs_live(text: str) -> None:
    run = mqlab.run(scenario_with("Answer", text), world="live")
    assert run.verdicts["no_loss"].verdict == "holds", run.verdicts["no_loss"].explanation
    assert run.latency.unanswered == 0


def test_a_mistake_in_a_module_ends_a_live_run(tmp_path: Path) -> None:
    with pytest.raises(mqlab.Error, match="no idea what to do with this"):
        mqlab.run(scenario_with("Broken", NATS), world="live")
    assert leftovers(tmp_path) == []


def test_a_live_result_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "answers.toml"
    path.write_text(NATS)
    assert call("run", path, "--world", "live", "--out", tmp_path / "live").code == 0
    run = mqlab.read_run(tmp_path / "live")
    assert run.world == "live"
    assert run.details["broker_versions"][0].startswith("2.")
    assert run.verdicts["no_loss"].verdict == "holds"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(sent: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(NATS.replace("messages = 20", 'messages = 100000\nrate = "10/s"'))
    command = [sys.executable, "-m", "mqlab.cli.main", "run", path, "--world", "live", "--out", tmp_path / "out"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_for_workers(process)
        assert leftovers(tmp_path) != []
        os.kill(process.pid, sent)
        _, complaint = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "interrupted" in complaint
    assert "Traceback" not in complaint
    assert not (tmp_path / "out").exists()
    assert leftovers(tmp_path) == []


def wait_for_workers(process: subprocess.Popen[str]) -> None:
    """Until the run is under way: a worker of it runs."""
    watcher = psutil.Process(process.pid)
    while process.poll() is None:
        for child in watcher.children(recursive=True):
            with contextlib.suppress(psutil.Error):  # it may be gone by now
                if "--process" in child.cmdline():
                    return


def test_broker_up_status_down(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    up = call("broker", "up", "nats", "--json", MQLAB_CACHE=cache)
    assert up.code == 0, up.err
    try:
        assert up.json["address"].startswith(("127.0.0.1:", "nats://127.0.0.1:"))
        state = call("broker", "status", "nats", "--json", MQLAB_CACHE=cache).json
        assert (state["up"], state["nodes_alive"]) == (True, 1)
        again = call("broker", "up", "nats", MQLAB_CACHE=cache)
        assert again.code == 4
        assert "up already" in again.err
    finally:
        down = call("broker", "down", "nats", "--json", MQLAB_CACHE=cache)
    assert down.json["was_up"] is True
    assert call("broker", "status", "nats", "--json", MQLAB_CACHE=cache).json["up"] is False


def test_no_java_is_the_environment_s_failure(scenario_file: Path, tmp_path: Path) -> None:
    called = call("run", scenario_file, "--world", "live", cwd=tmp_path, PATH=str(tmp_path), JAVA_HOME="")
    assert called.code == 4, called
    assert "java" in called.err.lower()
    assert "Traceback" not in called.err
