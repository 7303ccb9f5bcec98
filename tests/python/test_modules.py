"""Modules written in Python: run like those in C++, and their mistakes told as bad input."""

from __future__ import annotations

from pathlib import Path

import mqlab
import pytest
from support import ROOT, SCENARIO, call

FILE = ROOT / "tests/python/modules/answer.py"
NATS = """\
name = "answers"

[broker]
kind = "nats"

[[streams]]
name = "requests"

[[streams]]
name = "vectors"

[workload]
name = "api"
topic = "requests"
messages = 20

[[stages]]
name = "embed"
module = "stage"
input = "requests"
output = "vectors"

[faults]
menu = ["kill"]

[claims]
no_loss = { of = "requests", in = "vectors" }
no_duplicates = { of = "deliveries" }
"""


def scenario_with(name: str, text: str = SCENARIO, settings: str = "") -> mqlab.Scenario:
    module = f'module = "{FILE}:{name}"\n{settings}'
    return mqlab.Scenario(text.replace('module = "stage"', module), "answers.toml")


@pytest.mark.parametrize("text", [SCENARIO, NATS], ids=["kafka", "nats"])
def test_runs_like_a_module_in_c(text: str) -> None:
    run = mqlab.run(scenario_with("Answer", text))
    assert run.verdicts["no_loss"].verdict == "holds", run.verdicts["no_loss"].explanation
    assert run.verdicts["no_duplicates"].verdict == "holds"
    assert run.latency.unanswered == 0
    assert mqlab.run(scenario_with("Answer", text)).hash == run.hash


@pytest.mark.parametrize("text", [SCENARIO, NATS], ids=["kafka", "nats"])
def test_is_searched_like_a_module_in_c(text: str, tmp_path: Path) -> None:
    verdicts = mqlab.verify(scenario_with("Answer", text), schedules=150, jobs=2, out=tmp_path)
    assert verdicts["no_loss"].verdict == "holds"
    broken = verdicts["no_duplicates"]
    assert broken.verdict == "violated"
    assert broken.counterexample is not None
    assert len(broken.counterexample.messages or ()) <= 3
    again = mqlab.replay(broken.counterexample.path)[0]
    assert again.verdicts["no_duplicates"].verdict == "violated"


def test_a_module_that_forgets_is_caught() -> None:
    run = mqlab.run(scenario_with("Answer", settings="forget = 7"))
    assert run.verdicts["no_loss"].verdict == "violated"
    assert run.verdicts["no_loss"].violations == 2


def test_a_mistake_in_a_module_is_told_with_its_line() -> None:
    with pytest.raises(mqlab.ScenarioError, match="no idea what to do with this") as raised:
        mqlab.run(scenario_with("Broken"))
    line = next(n for n, text in enumerate(FILE.read_text().splitlines(), 1) if "no idea" in text)
    assert f"answer.py:{line}" in str(raised.value)


def test_what_a_broker_cannot_do_is_refused_before_the_run() -> None:
    with pytest.raises(mqlab.ScenarioError, match="begin"):
        mqlab.run(scenario_with("Needy", NATS))


def test_effects_cannot_be_kept() -> None:
    with pytest.raises(mqlab.ScenarioError, match="belong to one call of handle"):
        mqlab.run(scenario_with("Hoarder"))


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        (f"{FILE}:NoModule", "no subclass of mqlab.Module named 'NoModule'"),
        (f"{FILE}:Nobody", "no subclass of mqlab.Module named 'Nobody'"),
        ("nowhere.py:Answer", "there is no file"),
    ],
)
def test_what_is_no_module(scenario_file: Path, module: str, complaint: str) -> None:
    scenario_file.write_text(SCENARIO.replace('module = "stage"', f'module = "{module}"'))
    called = call("run", scenario_file)
    assert called.code == 2
    assert complaint in called.err
    assert "stages.embed.module" in called.err


def test_the_file_is_found_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE.read_text())
    path = tmp_path / "mine.toml"
    path.write_text(SCENARIO.replace('module = "stage"', 'module = "mine.py:Answer"'))
    called = call("verify", path, "--schedules", 100, "--out", tmp_path / "deep" / "er")
    assert called.code == 1, called.err
    assert call("replay", tmp_path / "deep" / "er" / "ce-1.toml").code == 1
