"""The space-time diagram as a browser lays it out at 1,000 pixels: readable, nothing over anything else."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import mqlab
import pytest
from mqlab.diagram import WIDTH, space_time
from support import ROOT, Rows

MEASURE = """
const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
const svg = document.querySelector("svg");
const texts = [...svg.querySelectorAll("text")].map(e => ({
  text: e.textContent, box: box(e), size: parseFloat(getComputedStyle(e).fontSize) * e.getCTM().a,
}));
const count = selector => svg.querySelectorAll(selector).length;
document.querySelector("#out").textContent = JSON.stringify({
  svg: box(svg), texts, lanes: count("[data-lane]"), arrows: count("[data-arrow]"), faults: count("[data-fault]"),
  witness: count("[data-witness]"), scroll: document.documentElement.scrollWidth,
});
"""
SMALLEST = 11.0  # pixels


def laid_out(svg: str, folder: Path) -> dict[str, Any]:
    """What a headless browser makes of it in a window of 1,000 pixels."""
    page = folder / "page.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><body style="margin:0">{svg}<pre id="out"></pre>'
        f"<script>window.onload = () => {{ {MEASURE} }}</script></body>",
        encoding="utf-8",
    )
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
         "--hide-scrollbars", f"--window-size={WIDTH},900", "--virtual-time-budget=2000", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None and found[1], done.stderr
    measured: dict[str, Any] = json.loads(unescape(found[1]))
    return measured


def overlaps(texts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other by more than a pixel."""
    pairs = []
    for i, a in enumerate(texts):
        for b in texts[i + 1 :]:
            wide = min(a["box"][2], b["box"][2]) - max(a["box"][0], b["box"][0])
            high = min(a["box"][3], b["box"][3]) - max(a["box"][1], b["box"][1])
            if wide > 1 and high > 2:
                pairs.append((a["text"], b["text"]))
    return pairs


def check(svg: str, lanes: int, folder: Path) -> dict[str, Any]:
    measured = laid_out(svg, folder)
    assert measured["svg"][2] - measured["svg"][0] == WIDTH
    assert measured["scroll"] <= WIDTH
    assert measured["lanes"] == lanes
    small = [t["text"] for t in measured["texts"] if t["size"] < SMALLEST]
    assert small == []
    outside = [t["text"] for t in measured["texts"] if t["box"][0] < 0 or t["box"][2] > WIDTH]
    assert outside == []
    assert overlaps(measured["texts"]) == []
    return measured


EXPERIMENTS = [
    "kafka-at-least-once", "kafka-auto-commit", "kafka-reorder-in-flight", "kafka-transactional-delayed-end",
    "kafka-transactional-read-uncommitted", "nats-ack-wait", "nats-power-loss",
]  # fmt: skip


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_stories_are_readable(name: str, tmp_path: Path) -> None:
    verdicts = mqlab.verify(mqlab.load(ROOT / f"experiments/{name}.toml"), schedules=500, out=tmp_path)
    stories = [v.counterexample for v in verdicts if v.counterexample is not None]
    assert stories
    story = stories[0]
    svg = str(story.plot())
    run = mqlab.replay(story)[0]
    measured = check(svg, svg.count("data-lane="), tmp_path)
    assert measured["lanes"] >= 2
    assert 0 < measured["witness"] <= len(run.verdicts[story.claim].witness)
    assert (measured["faults"] > 0) == (story.scenario.core.faults > 0)
    assert (measured["arrows"] > 0) == ("←" in svg)


def test_long_names_and_many_lanes(scenario: mqlab.Scenario, tmp_path: Path) -> None:
    text = scenario.to_toml().replace("embed", "embedding-worker-of-the-search-pipeline")
    text = text.replace("instances = 2", "instances = 8")
    wide = mqlab.Scenario(text, "wide.toml")
    rows = Rows(wide)
    sent = [rows.add(10 * n, "api", "publish", place="requests/0", position=n, message=1) for n in range(8)]
    for n in range(8):
        worker = f"embedding-worker-of-the-search-pipeline-{n}"
        rows.add(200 + 10 * n, worker, "deliver", place="requests/0", position=n, message=1)
    title, caption = "a claim with a long reason " * 12, "mqlab replay " * 20
    svg = space_time(rows.history(), [sent[0]], title=title, caption=caption)
    check(svg, 9, tmp_path)
