"""Sweeps: tidy, the same for any executor, and resumed after a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mqlab
import pandas as pd
import pytest
from mqlab.sweeps import Cell
from support import ROOT, call

VARY = {"stages.embed.instances": [1, 2], "workload.rate": ["500/s", "1000/s"]}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    from support import SCENARIO

    return mqlab.sweep(mqlab.Scenario(SCENARIO, "embedder.toml"), VARY, repeats=2, jobs=2)


def test_one_row_a_run_in_a_fixed_order(table: pd.DataFrame) -> None:
    assert len(table) == 8
    assert table["stages.embed.instances"].tolist() == [1] * 4 + [2] * 4
    assert table["workload.rate"].tolist() == (["500/s"] * 2 + ["1000/s"] * 2) * 2
    assert table["seed"].tolist() == [1, 2] * 4
    assert (table["latency_p50"] <= table["latency_max"]).all()
    assert table["throughput"].gt(0).all()
    assert set(table["no_loss of requests in vectors"]) == {"holds"}


def test_any_executor_gives_the_same_table(scenario: mqlab.Scenario, table: pd.DataFrame) -> None:
    with ThreadPoolExecutor(2) as threads:
        pd.testing.assert_frame_equal(mqlab.sweep(scenario, VARY, repeats=2, executor=threads), table)


def test_a_bad_path_is_refused_before_anything_runs(scenario: mqlab.Scenario) -> None:
    with pytest.raises(mqlab.ScenarioError, match="instance"):
        mqlab.sweep(scenario, {"stages.embed.instance": [1, 2]})


def test_nothing_is_run_twice(scenario: mqlab.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = mqlab.sweep(scenario, VARY, executor=ThreadPoolExecutor(1), store=tmp_path)
    ran: list[int] = []
    monkeypatch.setattr(Cell, "run", lambda cell: ran.append(cell.seed))
    again = mqlab.sweep(scenario, VARY, executor=ThreadPoolExecutor(1), store=tmp_path)
    assert ran == []
    pd.testing.assert_frame_equal(first, again)


def test_a_changed_scenario_is_run_anew(scenario: mqlab.Scenario, tmp_path: Path) -> None:
    mqlab.sweep(scenario, {"workload.messages": [5]}, executor=ThreadPoolExecutor(1), store=tmp_path)
    mqlab.sweep(
        scenario.with_({"network.latency": "1ms"}),
        {"workload.messages": [5]},
        executor=ThreadPoolExecutor(1),
        store=tmp_path,
    )
    assert len(list(tmp_path.iterdir())) == 2


def test_a_killed_sweep_goes_on_where_it_was(scenario_file: Path, tmp_path: Path) -> None:
    """Killed after the third cell; the second call runs only what is missing and the table is whole."""
    out = tmp_path / "table.parquet"
    arguments = [
        "sweep",
        str(scenario_file),
        "--vary",
        "workload.messages=3,4,5,6,7,8",
        "--jobs",
        "1",
        "--out",
        str(out),
    ]
    dying = (
        "import os, signal\n"
        "from mqlab.sweeps import Store\n"
        "save = Store.save\n"
        "def save_three(store, cell, row):\n"
        "    save(store, cell, row)\n"
        "    if len(list(store.folder.iterdir())) == 3: os.killpg(0, signal.SIGKILL)\n"
        "Store.save = save_three\n"
        "from mqlab.cli.main import main\n"
        "if __name__ == '__main__': main()\n"
    )
    script = tmp_path / "dying.py"
    script.write_text(dying)
    done = subprocess.run([sys.executable, script, *arguments], start_new_session=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not out.exists()
    cells = tmp_path / "table.parquet.cells"
    before = {path.name: path.stat().st_mtime_ns for path in cells.iterdir()}
    assert len(before) == 3
    called = call(*arguments, "--json")
    assert called.code == 3, called.err  # so few requests decide no quantile
    assert [row["workload.messages"] for row in called.json["rows"]] == [3, 4, 5, 6, 7, 8]
    assert pd.read_parquet(out)["requests"].tolist() == [3, 4, 5, 6, 7, 8]
    assert not cells.exists()


def test_a_process_that_dies_is_the_environment_s_failure(scenario_file: Path) -> None:
    module = ROOT / "tests/python/modules/answer.py"
    called = call(
        "sweep", scenario_file, "--vary", "workload.messages=3,4", "--set", f'stages.embed.module="{module}:Dying"'
    )
    assert called.code == 4, called
    assert "a process of the sweep died" in called.err
    assert "Traceback" not in called.err


def test_values_may_be_lists_tables_and_words(scenario_file: Path) -> None:
    called = call(
        "sweep", scenario_file, "--vary", "workload.arrival=constant,poisson", "--vary",
        'stages.embed.service_time="1ms",{ kind = "uniform", low = "1ms", high = "2ms" }', "--json",
    )  # fmt: skip
    assert called.code == 0, called.err
    assert len(called.json["rows"]) == 4


@pytest.mark.parametrize("vary", ["workload.messages=", "workload.messages", "=3", "workload.messages=3,,4"])
def test_bad_vary(scenario_file: Path, vary: str) -> None:
    called = call("sweep", scenario_file, "--vary", vary)
    assert called.code == 2
    assert "Traceback" not in called.err
