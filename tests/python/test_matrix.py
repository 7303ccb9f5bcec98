"""The agreement matrix: cells before running, states, the formula, the command; and where a live run leaves a story."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import mqlab
import pytest
from mqlab import confirm, matrices
from mqlab.counterexample import Counterexample
from mqlab.divergence import divergence
from mqlab.live.planted import planted
from mqlab.matrices import Cell, Matrix, enumerate_cells, judged, restricted, settings_hash
from mqlab.matrix_picture import draw
from mqlab.matrix_runs import Asked
from mqlab.runs import Run
from support import ROOT, call


def experiment(name: str) -> mqlab.Scenario:
    return mqlab.load(ROOT / f"experiments/{name}.toml")


CELL = Cell("a", "kafka 4.1", "librdkafka", "0", "no_loss", "kill", matrices.STEP)
CLEAN = replace(CELL, fault=matrices.NO_FAULT, anchors="")


@pytest.mark.parametrize(
    ("cell", "simulated", "needs_fault", "broken", "runs", "reached", "state"),
    [
        (CELL, "violated", True, 5, 5, 5, matrices.BOTH),
        (CELL, "violated", True, 1, 5, 5, matrices.BOTH),
        (CELL, "violated", True, 0, 5, 5, matrices.OVER),
        (CELL, "violated", True, 0, 5, 0, matrices.NOT_REPRODUCED),
        (CELL, "violated", False, 0, 0, 0, matrices.SAME),
        (CLEAN, "violated", False, 5, 5, 5, matrices.BOTH),
        (CELL, "holds", False, 0, 5, 1, matrices.NONE),
        (CELL, "holds", False, 1, 5, 1, matrices.UNDER),
        (CELL, "undecided", False, 1, 5, 1, matrices.UNDER),
        (CELL, "undecided", False, 0, 5, 1, matrices.UNDECIDED_LIVE),
        (CELL, "holds", False, 0, 5, 0, matrices.UNDECIDED_LIVE),
    ],
)
def test_states(
    cell: Cell, simulated: str, needs_fault: bool, broken: int, runs: int, reached: int, state: str
) -> None:
    assert judged(cell, simulated, needs_fault, broken, runs, reached, "").state == state


def of(**counts: int) -> Matrix:
    named = {"both": matrices.BOTH, "over": matrices.OVER, "under": matrices.UNDER, "none": matrices.NONE,
             "not_reproduced": matrices.NOT_REPRODUCED, "cannot": matrices.CANNOT}  # fmt: skip
    cells = [replace(CELL, state=named[name], runs=5) for name, count in counts.items() for _ in range(count)]
    return Matrix(tuple(cells), 5, 1000, 1)


def test_agreement_counts_only_what_can_agree_or_differ() -> None:
    assert of(both=6, over=1, under=1, none=50, not_reproduced=9, cannot=9).agreement() == 6 / 8
    assert of(none=5).agreement() is None
    assert of(both=3, over=9).exit_code == 0
    assert of(both=99, under=1).exit_code == 1


def test_none_found_says_how_little_it_excludes() -> None:
    cell = of(none=1).cells[0]
    assert cell.excluded_rate == pytest.approx(0.4507, abs=1e-4)  # 1 − 0.05^(1/5)
    assert of(both=1).cells[0].excluded_rate is None


def test_held_out_cells_are_counted_apart() -> None:
    mixed = Matrix((replace(CELL, state=matrices.BOTH), replace(CELL, state=matrices.OVER, held_out=True)), 5, 1000, 1)
    assert (mixed.agreement(), mixed.agreement(held_out=True)) == (0.5, 0.0)


def test_cells_are_enumerated_from_the_scenario_alone() -> None:
    cells = enumerate_cells(experiment("kafka-transactional-delayed-end"))
    assert {(c.fault, c.anchors) for c in cells} == {
        ("none", ""), ("delay", matrices.REQUEST), ("drop_response", matrices.REQUEST),
    }  # fmt: skip
    assert len(cells) == 3 * 3
    kills = enumerate_cells(experiment("kafka-at-least-once"))
    assert {(c.fault, c.anchors) for c in kills} == {("none", ""), ("kill", matrices.STEP), ("pause", matrices.STEP)}


def test_a_cells_search_has_its_fault_and_its_anchors_only() -> None:
    only = restricted(experiment("kafka-at-least-once"), "pause", matrices.STEP)
    assert only.core.menu == ["pause"]
    steps = only.to_dict()["faults"]["steps"]
    assert "publish" in steps
    assert not any(step.startswith("request.") for step in steps)
    assert restricted(experiment("kafka-at-least-once"), "none", "").core.menu == []


def test_the_hash_is_of_the_settings() -> None:
    scenario = experiment("nats-ack-wait")
    assert settings_hash(scenario) == settings_hash(scenario.with_({"faults.at_most": 1}))
    assert settings_hash(scenario) != settings_hash(scenario.with_({"stages.worker.consumer.ack_wait": "1s"}))


def test_what_the_live_client_cannot_express_is_no_cell_that_ran(tmp_path: Path) -> None:
    scenario = experiment("kafka-reorder-in-flight").with_({"workload.producer.buffer.memory": 1_000_000})
    done = mqlab.matrix([scenario], times=1, schedules=10, out=tmp_path)
    assert {cell.state for cell in done.cells} == {matrices.CANNOT}
    assert "buffer.memory" in done.cells[0].detail or "setting" in done.cells[0].detail


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_picture(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"matrix{suffix}"
    draw(of(both=1, over=1, under=1, none=1, cannot=1), path)
    assert path.stat().st_size > 3000


def test_a_planted_defect_is_one_in_the_model() -> None:
    for name in ("nats-ack-wait", "kafka-transactional"):
        assert mqlab.run(planted(experiment(name))).verdicts["no_loss"].verdict == "violated"


def story_of(name: str, folder: Path, claim: str) -> mqlab.Counterexample:
    story = mqlab.verify(experiment(name), out=folder)[claim].counterexample
    assert isinstance(story, mqlab.Counterexample)
    return story


def test_a_run_that_follows_the_story_does_not_diverge(tmp_path: Path) -> None:
    story = story_of("kafka-at-least-once", tmp_path, "no_duplicates")
    run = mqlab.replay(story)[0]
    assert divergence(run.record, run) is None


def test_a_run_without_the_fault_is_told_where_it_leaves_the_story(tmp_path: Path) -> None:
    story = story_of("kafka-at-least-once", tmp_path, "no_duplicates")
    told = mqlab.replay(story)[0].record
    plain = mqlab.run(experiment("kafka-at-least-once").with_({"faults.menu": []}))
    left = divergence(told, plain)
    assert left is not None
    assert 1 < left.step <= left.steps
    assert "worker-0 ⚡ kill" in left.expected
    assert "does not happen live" in str(left)
    plain.faults_reached = False
    assert "was not reached" in str(divergence(told, plain))


class _Real:
    """A live world that shows a story in so many runs of each series."""

    def __init__(self, *shows: int) -> None:
        self.shows = list(shows)
        self.asked: list[tuple[int | None, str]] = []

    def series(self, story: Counterexample, times: int, note: object, name: str = "live") -> list[Run]:
        self.asked.append((None if story.messages is None else len(story.messages), name))
        held = mqlab.run(experiment("kafka-at-least-once"))
        shown = self.shows.pop(0)
        return mqlab.replay(story) * shown + [held] * (times - shown)


class _Missing:
    """A live world in which every third run does not come to its fault."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def run(self, scenario: mqlab.Scenario, schedule: object, name: str) -> Run:
        text = scenario.core.to_toml()
        self.faults.append(text[text.index("[[fault]]") :])
        run = mqlab.run(experiment("nats-mirror"))
        run.faults_reached = len(self.faults) % 3 != 0
        return run


def test_a_probe_that_does_not_come_to_its_fault_is_made_up_for() -> None:
    real = _Missing()
    only = restricted(experiment("kafka-at-least-once"), "kill", matrices.STEP)
    runs = confirm.probe(cast(Any, real), only, 1, 5, None)
    assert [run.faults_reached for run in runs] == [True, True, False, True, True, False, True]
    assert len(set(real.faults)) == 7


def test_a_story_that_does_not_always_show_is_run_with_all_requests(tmp_path: Path) -> None:
    story = story_of("kafka-at-least-once", tmp_path, "no_duplicates")
    for shows, asked, best in [((5,), 1, 5), ((2, 5), 2, 5), ((2, 1), 2, 2)]:
        real = _Real(*shows)
        runs = confirm.told(cast(Any, real), story, 5, None)
        assert [name for _, name in real.asked] == ["live", "whole"][:asked]
        assert real.asked[-1][0] == (None if asked == 2 else 1)
        assert confirm.broken(story.claim, runs) == best


def test_a_story_of_messages_that_overtake_is_over_predicted_by_nobody(tmp_path: Path) -> None:
    """No real machine can be told to do that: live it shows, or the cell says nothing."""
    scenario = experiment("kafka-at-least-once")
    verdicts = mqlab.verify(scenario, out=tmp_path)
    verdict = verdicts["no_duplicates"]
    story = verdict.counterexample
    assert story is not None
    assert not story.needs_an_order
    cell = next(c for c in enumerate_cells(scenario) if c.claim == verdict.scope and c.fault == "kill")
    asked = Asked(5, 1000, None, 1, tmp_path, None)
    for overtakes, shows, state in [
        ((), 0, matrices.OVER),
        (((3, 1),), 0, matrices.NOT_REPRODUCED),
        (((3, 1),), 2, matrices.BOTH),
    ]:
        told = replace(story, overtakes=overtakes)
        filled = asked._story(cast(Any, _Real(shows, shows)), cell, verdict, told, {})
        assert (filled.state, filled.violations, filled.runs) == (state, shows, 5)
        assert ("overtake each other" in filled.detail) == bool(overtakes)


def test_live_and_model_agree_on_nats(tmp_path: Path) -> None:
    called = call(
        "matrix", ROOT / "experiments/nats-ack-wait.toml", "--times", 2, "--schedules", 200, "--out", tmp_path,
        "--held-out", "nats-ack-wait", "--json",
    )  # fmt: skip
    assert called.code == 0, called
    states = {cell["claim"].split(" ")[0]: cell for cell in called.json["cells"]}
    assert states["no_duplicates"]["state"] == matrices.BOTH
    assert states["no_duplicates"]["violations"] == 2
    assert states["no_loss"]["state"] == matrices.NONE
    assert all(cell["held_out"] and cell["broker"].startswith("nats 2.") for cell in states.values())
    assert called.json["agreement"] == called.json["agreement_held_out"] == 1.0
    for name in ("matrix.parquet", "matrix.svg", "matrix.png", "matrix.json"):
        assert (tmp_path / name).is_file()
    kept = sorted(p.name for p in (tmp_path / "nats-ack-wait/live").glob("*.parquet"))
    assert "ce-1-live-1.parquet" in kept
    assert "planted" in called.err


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    file = ROOT / "experiments/nats-ack-wait.toml"
    called = call("matrix", file, "--held-out", "nobody", "--out", tmp_path)
    assert called.code == 2
    assert called.err.count("\n") == 1
    assert call("matrix", "missing.toml").code == 2


def test_a_lab_that_misses_the_planted_defect_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The defect is mended, so the lab cannot find it: it must refuse to speak."""
    harmless = experiment("nats-in-progress")
    monkeypatch.setattr("mqlab.live.planted.planted", lambda scenario: harmless)
    with pytest.raises(mqlab.BrokerError, match="planted defect was not found"):
        mqlab.verify(experiment("nats-ack-wait"), schedules=20, world="live", times=1, out=tmp_path)


def test_what_no_broker_has_is_said_and_the_others_are_asked(tmp_path: Path) -> None:
    asked = matrices.matrix([experiment("nats-minority-peer-remove")], times=1, schedules=5, out=tmp_path)
    assert {cell.state for cell in asked.cells} == {matrices.CANNOT}
    assert all("peer_remove_after" in cell.detail for cell in asked.cells)


def test_a_scenario_is_asked_once(tmp_path: Path) -> None:
    told: list[str] = []
    asked = [experiment("nats-minority-peer-remove")]
    first = matrices.matrix(asked, times=1, schedules=5, out=tmp_path, note=told.append)
    assert not any("asked before" in note for note in told)
    again = matrices.matrix(
        asked, times=1, schedules=5, out=tmp_path, note=told.append, held_out=["nats-minority-peer-remove"]
    )
    assert "asked before" in told[-1]
    assert [replace(cell, held_out=False) for cell in again.cells] == list(first.cells)
    assert all(cell.held_out for cell in again.cells)
    matrices.matrix(asked, times=1, schedules=6, out=tmp_path, note=told.append)
    assert not told[-1].endswith("asked before")
