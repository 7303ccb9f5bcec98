"""The reference results: their stories still break what they broke, and documents quote files that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import mqlab
import pytest
from mqlab import matrices
from support import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
STORIES = sorted((ROOT / "results").rglob("ce-*.toml"))
MATRIX = ROOT / "results/matrix/matrix.json"


def test_there_are_some() -> None:
    assert STORIES


@pytest.mark.parametrize("path", STORIES, ids=lambda path: str(path.relative_to(ROOT / "results")))
def test_the_story_still_breaks_its_claim(path: Path) -> None:
    story = mqlab.read_counterexample(path)
    run = mqlab.replay(story)[0]
    assert run.faults_reached
    assert run.verdicts[story.claim].verdict == "violated"
    assert path.with_suffix(".svg").is_file()


@pytest.mark.parametrize("path", sorted((ROOT / "results").glob("*/verdicts.json")), ids=lambda path: path.parent.name)
def test_the_verdicts_were_made_by_the_command_that_is_told(path: Path) -> None:
    assert f"`{path.parent.name}/`" in (ROOT / "results/README.md").read_text()
    assert json.loads(path.read_text())["schema"] == "mqlab.verdicts/1"


def test_the_real_broker_breaks_nothing_that_the_model_keeps() -> None:
    matrix = json.loads(MATRIX.read_text())
    under = [cell for cell in matrix["cells"] if cell["state"] == matrices.UNDER]
    assert under == []
    assert matrix["counts"][matrices.BOTH] == sum(cell["state"] == matrices.BOTH for cell in matrix["cells"]) > 0
    assert "`matrix/`" in (ROOT / "results/README.md").read_text()


def test_cells_kept_out_of_tuning_are_marked() -> None:
    cells = json.loads(MATRIX.read_text())["cells"]
    held_out = {cell["scenario"] for cell in cells if cell["held_out"]}
    assert held_out == {"nats-ordered-consumer", "kafka-at-most-once"}
    assert all(cell["held_out"] for cell in cells if cell["scenario"] in held_out)


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name
)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_experiment_that_documents_name_exists() -> None:
    for page in PAGES:
        for name in re.findall(r"experiments/[\w.-]+\.toml", page.read_text()):
            assert (ROOT / name).is_file(), f"{page.name} names {name}"
