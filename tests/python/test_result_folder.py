"""The result folder: whole or not there, readable by others' tools, equal after a round trip."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import mqlab
import numpy as np
import pyarrow.parquet as pq
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from mqlab import result
from mqlab.history import read_parquet
from support import call

FILES = {"scenario.toml", "environment.json", "result.json", "verdicts.json", "history.parquet", "latency.hdr"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support import SCENARIO

    return mqlab.run(mqlab.Scenario(SCENARIO, "embedder.toml"), seed=7).save(tmp_path_factory.mktemp("run") / "result")


def test_has_exactly_the_contract_s_files(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES


def test_the_scenario_is_complete(folder: Path) -> None:
    scenario = mqlab.load(folder / "scenario.toml")
    assert scenario.to_toml() == (folder / "scenario.toml").read_text()
    assert scenario.to_dict()["network"]["latency"]


def test_running_its_scenario_again_gives_the_same_history(folder: Path) -> None:
    stored = json.loads((folder / "result.json").read_text())["mqlab"]
    again = mqlab.run(mqlab.load(folder / "scenario.toml"), seed=stored["seed"])
    assert again.hash == stored["hash"]


def test_the_environment_says_what_ran(folder: Path) -> None:
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["seed"] == 7
    assert environment["world"] == "sim"
    assert environment["client"] == "librdkafka"
    assert environment["brokers"] == [{"name": "kafka", "kind": "kafka", "version": "4.1", "nodes": 1}]
    assert {"mqlab", "revision", "python", "machine", "system", "processors"} <= environment.keys()


def test_the_result_has_the_fields_of_the_benchmark(folder: Path) -> None:
    document = json.loads((folder / "result.json").read_text())
    for phase in ("aggregatedPublishLatency", "aggregatedEndToEndLatency"):
        names = ("Avg", "50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max")
        values = [document[phase + name] for name in names]
        assert all(value > 0 for value in values)
        assert values[1:] == sorted(values[1:])
    assert sum(document["publishRate"]) == 20
    assert document["backlog"][-1] == 0
    assert document["mqlab"]["unanswered"] == 0


def test_the_latency_log_is_read_by_its_library(folder: Path) -> None:
    run = mqlab.read_run(folder)
    reader = HistogramLogReader(str(folder / "latency.hdr"), HdrHistogram(1, 3_600_000_000_000, 3))
    histogram = reader.get_next_interval_histogram()
    reader.close()
    assert histogram.get_total_count() == len(run.latency)
    assert histogram.get_value_at_percentile(50) == pytest.approx(run.latency.quantile(0.5) * 1e9, rel=2e-3)


def test_parquet_is_readable_without_us(folder: Path) -> None:
    table = pq.read_table(folder / "history.parquet")
    kinds = set(table["kind"].to_pylist())
    assert {"invoke", "publish", "deliver", "handle", "commit", "audit"} <= kinds
    assert set(table["process"].to_pylist()) >= {"api", "embed-0", "billing"}


def test_round_trip(folder: Path) -> None:
    run = mqlab.read_run(folder)
    fresh = mqlab.run(run.scenario, seed=7)
    assert np.array_equal(run.record.rows, fresh.record.rows)
    assert run.verdicts.document() == fresh.verdicts.document()
    assert run.hash == fresh.hash
    assert list(run.history.columns) == list(fresh.history.columns)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_folder_with_a_file_missing_is_no_result(folder: Path, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / name).unlink()
    with pytest.raises(mqlab.HistoryError, match=name):
        mqlab.read_run(copy)


def test_a_history_cut_short_is_none(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "history.parquet").read_bytes()
    path = tmp_path / "history.parquet"
    for size in (0, 4, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(mqlab.HistoryError):
            read_parquet(path)


def test_comparing_what_is_no_result_is_bad_input(folder: Path, tmp_path: Path) -> None:
    called = call("compare", folder, tmp_path)
    assert called.code == 2
    assert "is no result folder" in called.err


def test_nothing_is_left_of_a_run_that_cannot_be_written(scenario: mqlab.Scenario, tmp_path: Path) -> None:
    run = mqlab.run(scenario)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run.record.write_parquet = full  # type: ignore[method-assign]
    with pytest.raises(mqlab.BrokerError, match="the disk is full"):
        run.save(tmp_path / "result")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_the_environment_s_failure(scenario_file: Path, tmp_path: Path) -> None:
    """A file size limit stands in for the full disk: the same error at the same place, for any user."""
    limited = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "from mqlab.cli.main import main\n"
        "main()\n"
    )
    out = tmp_path / "runs" / "result"
    done = subprocess.run(
        [sys.executable, "-c", limited, "run", scenario_file, "--out", out],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert "the result cannot be written to" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(out.parent.iterdir()) == []


def test_a_result_is_never_written_over_another(scenario_file: Path, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    called = call("run", scenario_file, "--out", folder)
    assert called.code == 4
    assert "exists already" in called.err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_killed_while_writing_leaves_no_result(scenario_file: Path, tmp_path: Path) -> None:
    """Killed between the files: what is left is not where a result would be."""
    out = tmp_path / "result"
    dying = (
        "import os, signal, sys\n"
        "from mqlab import result\n"
        "result.write_latency = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from mqlab.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", dying, "run", scenario_file, "--out", out], timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not out.exists()
    assert call("run", scenario_file, "--out", out).code == 0
    assert {path.name for path in out.iterdir()} == FILES


def test_new_folder_cleans_up_after_any_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), result.new_folder(tmp_path / "x") as scratch:
        (scratch / "half").write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
