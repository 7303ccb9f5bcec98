"""The reference results: their stories still break what they broke, and documents quote files that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import mqlab
import pytest
from support import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
STORIES = sorted((ROOT / "results").glob("*/ce-*.toml"))


def test_there_are_some() -> None:
    assert STORIES


@pytest.mark.parametrize("path", STORIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
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
