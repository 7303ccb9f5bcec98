"""The JSON documents and exit codes that scripts rely on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import mqlab
import pytest
from jsonschema import validate
from support import SCENARIO, call

NUMBER_OR_NULL = {"type": ["number", "null"]}
VERDICTS = {
    "type": "object",
    "required": [
        "schema", "scenario", "world", "client", "seed", "schedules", "schedules_per_second", "searched", "claims",
    ],
    "properties": {
        "schema": {"const": "mqlab.verdicts/1"},
        "world": {"enum": ["sim", "live"]},
        "seed": {"type": "integer"},
        "schedules": {"type": "integer", "minimum": 1},
        "schedules_per_second": NUMBER_OR_NULL,
        "searched": {"type": "object", "required": ["anchors", "anchors_reached", "shapes"]},
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    "claim", "scope", "verdict", "observed", "violations", "first_failing_schedule", "explanation",
                    "story", "counterexample", "reproduced", "rests_on", "not_covered",
                ],
                "properties": {
                    "verdict": {"enum": ["holds", "violated", "undecided"]},
                    "observed": {"type": "integer"},
                    "violations": {"type": "integer"},
                    "first_failing_schedule": {"type": ["integer", "null"]},
                    "explanation": {"type": "string"},
                    "story": {"type": "array", "items": {"type": "string"}},
                    "counterexample": {"type": ["string", "null"]},
                    "reproduced": {
                        "anyOf": [
                            {"type": "null"},
                            {"type": "object", "required": ["times", "of"]},
                        ]
                    },
                    "rests_on": {"type": "array"},
                    "not_covered": {"type": "array"},
                },
            },
        },
    },
}  # fmt: skip


def test_verify_json(scenario_file: Path, tmp_path: Path) -> None:
    called = call("verify", scenario_file, "--schedules", 300, "--json", cwd=tmp_path)
    document = called.json
    validate(document, VERDICTS)
    assert [claim["claim"] for claim in document["claims"]] == ["no_loss", "no_duplicates", "latency.p50"]
    verdicts = {claim["claim"]: claim for claim in document["claims"]}
    assert verdicts["no_loss"]["verdict"] == "holds"
    broken = verdicts["no_duplicates"]
    assert broken["verdict"] == "violated"
    assert broken["story"]
    assert called.code == 1
    story = tmp_path / broken["counterexample"]
    assert story.is_file()
    assert story.with_suffix(".svg").read_text().startswith("<svg")
    stored = (tmp_path / "runs" / "embedder-verify" / "verdicts.json").read_text()
    assert stored.strip() == called.out.strip()


def test_what_was_searched_is_told_by_round(scenario_file: Path, tmp_path: Path) -> None:
    called = call("verify", scenario_file, "--schedules", 3000, "--set", "faults.at_most=2", "--json", cwd=tmp_path)
    searched = called.json["searched"]
    rounds = {done["round"]: done for done in searched["rounds"]}
    assert set(rounds) == {"reference", "singles", "pairs", "random", "mutation"}
    assert sum(done["schedules"] for done in rounds.values()) == called.json["schedules"] == 3000
    assert sum(done["new_shapes"] for done in rounds.values()) == searched["shapes"]
    assert rounds["singles"]["schedules"] == searched["single_faults"]
    assert all(done["schedules_per_second"] > 0 for name, done in rounds.items() if name != "reference")
    assert 0 < searched["pairs"] <= searched["pairs_total"]
    over = searched["shapes_over"]
    assert over == sorted(over) and over[-1] == [3000, searched["shapes"]]
    text = call("verify", scenario_file, "--schedules", 3000, "--set", "faults.at_most=2", cwd=tmp_path).out
    assert ", pairs " in text and "rounds" in text


def test_a_story_keeps_its_order(scenario_file: Path, tmp_path: Path) -> None:
    verdicts = mqlab.verify(mqlab.load(scenario_file), schedules=300, out=tmp_path / "found")
    story = verdicts["no_duplicates"].counterexample
    assert story is not None
    ordered = dataclasses.replace(story, order=2**64 - 1, overtakes=((3, 1), (7, 2)), path=tmp_path / "ordered.toml")
    ordered.path.write_text(ordered.to_toml(), encoding="utf-8")
    again = mqlab.read_counterexample(ordered.path)
    assert (again.order, again.overtakes) == (2**64 - 1, ((3, 1), (7, 2)))
    assert again.core_schedule().order == 2**64 - 1
    assert again.core_schedule().overtakes == [(3, 1), (7, 2)]
    assert again.key != story.key


def test_a_story_replays_to_the_same_verdict(scenario_file: Path, tmp_path: Path) -> None:
    call("verify", scenario_file, "--schedules", 300, "--out", tmp_path / "found")
    called = call("replay", tmp_path / "found" / "ce-1.toml", "--json")
    validate(called.json, VERDICTS)
    assert called.code == 1
    assert [claim["verdict"] for claim in called.json["claims"]] == ["violated"]
    story = mqlab.read_counterexample(tmp_path / "found" / "ce-1.toml")
    assert story.scenario.core.faults <= 1
    assert len(story.messages or ()) <= 3
    assert "<svg" in story.plot()


def test_stories_of_an_earlier_search_do_not_linger(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "found"
    assert call("verify", scenario_file, "--schedules", 300, "--out", out).code == 1
    assert call("verify", scenario_file, "--schedules", 50, "--claim", "no_loss", "--out", out).code == 0
    assert sorted(path.name for path in out.iterdir()) == ["verdicts.json"]


def test_the_verdicts_do_not_depend_on_the_jobs(scenario: mqlab.Scenario, tmp_path: Path) -> None:
    one = mqlab.verify(scenario, schedules=400, jobs=1, out=tmp_path / "one")
    two = mqlab.verify(scenario, schedules=400, jobs=2, out=tmp_path / "two")
    assert [v.first_failing_schedule for v in one] == [v.first_failing_schedule for v in two]
    assert [v.verdict for v in one] == [v.verdict for v in two]
    assert [v.story for v in one] == [v.story for v in two]


def test_run_json(scenario_file: Path, tmp_path: Path) -> None:
    called = call("run", scenario_file, "--json", "--seed", 3, cwd=tmp_path)
    assert called.code == 0
    assert called.err == ""
    document = called.json
    assert document["schema"] == "mqlab.run/1"
    assert (tmp_path / document["folder"] / "history.parquet").is_file()
    validate(document["verdicts"], VERDICTS)
    assert document["verdicts"]["seed"] == 3


def test_every_run_has_a_folder_of_its_own(scenario_file: Path, tmp_path: Path) -> None:
    folders = [call("run", scenario_file, "--json", cwd=tmp_path).json["folder"] for _ in range(2)]
    assert folders == ["runs/embedder-sim-seed1", "runs/embedder-sim-seed1-2"]


def test_compare_json(scenario_file: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        call("run", scenario_file, "--seed", seed, "--out", tmp_path / str(seed))
    called = call("compare", tmp_path / "1", tmp_path / "2", "--json")
    assert called.code == 0
    document = called.json
    assert document["schema"] == "mqlab.compare/1"
    figures = {row["figure"]: row for row in document["figures"]}
    assert {"throughput", "publish p50", "end to end p99", "end to end max"} <= figures.keys()
    assert all(row["ratio"] > 0 for row in figures.values())
    assert [(row["a"], row["b"], row["agree"]) for row in document["claims"]] == [("holds", "holds", True)] * 3


@pytest.mark.parametrize(
    ("command", "listed", "some"),
    [("claims", "claims", "no_loss"), ("modules", "modules", "stage"), ("brokers", "brokers", "kafka")],
)
def test_catalogues(command: str, listed: str, some: str) -> None:
    called = call(command, "--json")
    assert called.code == 0
    names = [entry.get("claim") or entry.get("name") or entry.get("kind") for entry in called.json[listed]]
    assert some in names
    assert some in call(command).out


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ("no_loss = { of = 'requests', in = 'vectors' }", 0),
        ("'latency.p50' = { at_most = '1us' }", 1),
        ("'latency.p99' = { at_most = '60s' }", 3),  # 20 samples are too few
        ("'latency.p50' = { at_most = '1us', expect = 'violated' }", 0),
        ("'latency.p50' = { at_most = '60s', expect = 'violated' }", 1),
        ("'latency.p99' = { at_most = '60s' }\n'latency.p50' = { at_most = '1us' }", 1),
    ],
)
def test_exit_codes(tmp_path: Path, claims: str, code: int) -> None:
    path = tmp_path / "some.toml"
    path.write_text(SCENARIO[: SCENARIO.index("[claims]")] + "[claims]\n" + claims + "\n")
    assert call("run", path, cwd=tmp_path).code == code


def test_progress_goes_to_stderr_only(scenario_file: Path, tmp_path: Path) -> None:
    called = call("verify", scenario_file, "--for", "1s", "--json", cwd=tmp_path)
    assert called.json["schedules"] > 300
    assert called.err == ""


def test_a_reader_that_goes_away_is_no_traceback(scenario_file: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    with subprocess.Popen(
        [sys.executable, "-m", "mqlab.cli.main", "claims"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
