"""Compacted topics: what a scenario says of them, what a run shows, what a claim excuses."""

from __future__ import annotations

import mqlab
import numpy as np
import pytest
from mqlab.errors import ScenarioError
from mqlab.history import FLAG
from support import ROOT


def experiment() -> mqlab.Scenario:
    return mqlab.load(ROOT / "experiments/kafka-compaction.toml")


def test_a_run_has_gaps_and_tombstones() -> None:
    record = mqlab.run(experiment().with_({"topics.requests.properties.min.cleanable.dirty.ratio": 0})).record
    producers = record.processes_of("workload")
    sent = record.where("invoke", "ok")
    buried = sent["size"] == 0
    assert 20 < buried.sum() < 55, "three in ten of 120"
    assert ((sent["flags"] & FLAG["tombstone"] != 0) == buried).all()
    stored = record.where("publish", "ok")
    place = int(stored[np.isin(stored["process"], producers)]["place"][0])
    audits = record.where("audit", "ok")
    found = audits[(audits["place"] == place) & (audits["op"] == 0)]
    positions = found["position"].tolist()
    assert positions == sorted(set(positions))
    assert len(positions) < 40, "most of the records are gone"
    assert positions[-1] == 119, "offsets stay"
    compacted = found[found["position"] < 110]["key"].tolist()
    assert len(compacted) == len(set(compacted)), "before the segments of the end each key is there once"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"workload.tombstones": 1.5}, "workload.tombstones"),
        ({"topics.requests.properties.min.cleanable.dirty.ratio": 2}, "must be 0 to 1"),
        (
            {
                "topics.requests.properties.min.compaction.lag.ms": 5000,
                "topics.requests.properties.max.compaction.lag.ms": 4000,
            },
            "must be at most max.compaction.lag.ms",
        ),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        experiment().with_(changes)


def test_streams_have_no_tombstones() -> None:
    text = """
name = "s"
[broker]
kind = "nats"
[[streams]]
name = "requests"
[workload]
stream = "requests"
messages = 10
tombstones = 0.5
"""
    with pytest.raises(ScenarioError, match="tombstones: only topics of Kafka have messages without value"):
        mqlab.Scenario(text, "s.toml")
