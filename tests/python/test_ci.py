"""For CI: JUnit XML, one line that says it all, `expect`, and a workflow that runs as it stands."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import mqlab
import pytest
import yaml
from mqlab.junit import write_junit
from mqlab.verdicts import ClaimVerdict, Verdicts
from support import ROOT, SCENARIO, call


def with_expectation(claim: str, expected: str) -> str:
    changed = SCENARIO.replace(
        f'{claim} = {{ of = "requests", in = "vectors" }}',
        f'{claim} = {{ of = "requests", in = "vectors", expect = "{expected}" }}',
    )
    assert changed != SCENARIO
    return changed


def verify(text: str, folder: Path, *more: object) -> tuple[int, ElementTree.Element, str]:
    scenario = folder / "embedder.toml"
    scenario.write_text(text)
    called = call("verify", scenario, "--schedules", 300, "--out", folder / "out", "--junit", folder / "j.xml", *more)
    return called.code, ElementTree.parse(folder / "j.xml").getroot()[0], called.out


def test_a_violated_claim_fails_with_its_story(tmp_path: Path) -> None:
    code, suite, out = verify(SCENARIO, tmp_path)
    assert code == 1
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        "embedder", "3", "1", "0",
    )  # fmt: skip
    case = next(c for c in suite.iter("testcase") if c.find("failure") is not None)
    failure = case.find("failure")
    assert failure is not None
    assert case.get("name") == "no_duplicates of requests in vectors"
    assert "twice" in str(failure.get("message"))
    assert "IS KILLED" in str(failure.text)
    assert "mqlab replay" in str(failure.text)
    assert {p.get("name") for p in suite.iter("property")} >= {"seed", "schedules", "brokers", "client", "world"}
    last = out.strip().splitlines()[-1]
    assert last == "embedder: 2 of 3 claims as expected; no_duplicates of requests in vectors violated; exit 1"


def test_a_violation_that_was_expected_passes(tmp_path: Path) -> None:
    code, suite, out = verify(with_expectation("no_duplicates", "violated"), tmp_path)
    assert code == 0
    assert suite.get("failures") == "0"
    assert out.strip().endswith("embedder: 3 of 3 claims as expected; exit 0")
    assert "(as expected)" in " ".join(out.split())


def test_holding_is_the_surprise(tmp_path: Path) -> None:
    code, suite, out = verify(with_expectation("no_loss", "violated"), tmp_path)
    assert code == 1
    kinds = {failure.get("type") for failure in suite.iter("failure")}
    assert kinds == {"violated", "holds, but was expected to be violated"}
    assert "no_loss of requests in vectors holds, was expected to be violated" in out.replace("\n", " ")


def test_undecided_is_an_error_not_a_pass(tmp_path: Path) -> None:
    undecided = SCENARIO.replace(
        'no_duplicates = { of = "requests", in = "vectors" }', '"latency.p99" = { at_most = "1s" }'
    )
    code, suite, out = verify(undecided, tmp_path)
    assert code == 3
    assert suite.get("errors") == "1"
    assert "undecided; exit 3" in out


def test_json_has_the_line_and_nothing_else_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "embedder.toml"
    path.write_text(SCENARIO)
    called = call("verify", path, "--schedules", 50, "--json", "--junit", tmp_path / "deep/er/j.xml", cwd=tmp_path)
    assert called.json["summary"].startswith("embedder: ")
    assert (tmp_path / "deep/er/j.xml").is_file()


def test_an_unwritable_report_is_the_environments_fault(tmp_path: Path) -> None:
    path = tmp_path / "embedder.toml"
    path.write_text(SCENARIO)
    called = call("verify", path, "--schedules", 5, "--junit", "/proc/none/j.xml", cwd=tmp_path)
    assert called.code == 4
    assert "Traceback" not in called.err


def test_what_xml_cannot_hold_is_replaced(tmp_path: Path) -> None:
    odd = ClaimVerdict("no_loss", "no_loss of a\x00b", "violated", "bell \x07 and <tag> & \ud800")
    write_junit(Verdicts((odd,), "x\x1b", "sim", "java", 1), tmp_path / "j.xml")
    case = ElementTree.parse(tmp_path / "j.xml").getroot()[0].find("testcase")
    assert case is not None
    assert case.get("name") == "no_loss of a\N{REPLACEMENT CHARACTER}b"
    failure = case.find("failure")
    assert failure is not None
    assert "<tag> &" in str(failure.get("message"))


WORKFLOW = yaml.safe_load((ROOT / "docs/ci-workflow.yml").read_text())


def test_the_workflow_names_what_exists() -> None:
    job = WORKFLOW["jobs"]["claims"]
    for scenario in job["env"]["SCENARIOS"].split():
        assert mqlab.load(ROOT / scenario).question
    assert (ROOT / "scripts/setup").is_file()
    assert [step.get("name", step.get("uses")) for step in job["steps"]][-1] == "what was found"
    assert job["steps"][-1]["if"] == "always()"


@pytest.mark.parametrize("step", ["settings", "claims"])
def test_the_workflow_runs_as_it_stands(step: str, tmp_path: Path) -> None:
    """The steps' own shell, in a folder that looks like the repository."""
    for name in (".venv", "experiments"):
        (tmp_path / name).symlink_to(ROOT / name)
    job = WORKFLOW["jobs"]["claims"]
    script = next(s["run"] for s in job["steps"] if s.get("name") == step)
    environment = {"PATH": "/usr/bin:/bin", "SCENARIOS": job["env"]["SCENARIOS"], "SEARCH": "1s"}
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == (1 if step == "claims" else 0), done.stderr  # one of the two loses messages
    if step == "claims":
        assert {p.name for p in (tmp_path / "out").glob("*.xml")} == {"nats-in-progress.xml", "nats-power-loss.xml"}
