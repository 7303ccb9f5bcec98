"""What a stream keeps and refuses is the same in both worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mqlab
import numpy as np
import pytest
from live_support import KIND, PHASE
from mqlab.live.brokers import start_cluster
from mqlab.live.cluster import Cluster, ClusterSpec
from mqlab.live.controller import run_live

SCENARIO = """
name = "limits"
[broker]
kind = "nats"
[[streams]]
name = "s"
subjects = ["{prefix}orders.*"]
properties = {{ {stream} }}
[workload]
stream = "s"
rate = "100/s"
messages = 12
size = "100B"
keys = {{ kind = "round_robin", count = 3 }}
producer = {{ {producer} }}
{more}
[claims]
no_phantom = {{ of = "s", in = "s" }}
[limits]
live_timeout = "30s"
"""
CONSUMER = '[[stages]]\nname = "c"\nmodule = "consumer"\ninput = "s"\nconsumer = { ack_wait = "500ms" }\n'
# It cannot take more than two in all its time.
SLOW = (
    CONSUMER.replace('{ ack_wait = "500ms" }', '{ ack_wait = "100ms", max_deliver = 1 }') + 'service_time = "150ms"\n'
)
CASES = {
    "everything": ("", "", ""),
    "max_msgs, old": ("max_msgs = 5", "", ""),
    "max_msgs, new": ('max_msgs = 5, discard = "new"', "", ""),
    "max_bytes, old": ("max_bytes = 900", "msg_id = false", ""),
    "max_bytes, new": ('max_bytes = 900, discard = "new"', "msg_id = false", ""),
    "max_bytes, in memory": ('max_bytes = 900, discard = "new", storage = "memory"', "msg_id = false", ""),
    "per subject": ("max_msgs_per_subject = 2", "", ""),
    "per subject, new": ('max_msgs_per_subject = 2, discard = "new"', "", ""),
    "per subject, refused": ('max_msgs_per_subject = 2, discard = "new", discard_new_per_subject = true', "", ""),
    "too large": ("max_msg_size = 127", "", ""),
    "just large enough": ("max_msg_size = 100", "msg_id = false", ""),
    "work queue": ('retention = "workqueue"', "", CONSUMER),
    "left in a work queue": ('retention = "workqueue"', "", SLOW),
    "interest": ('retention = "interest"', "", CONSUMER),
    "interest of nobody": ('retention = "interest"', "", ""),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with start_cluster(ClusterSpec("nats", "2.12", 1), tmp_path_factory.mktemp("nats")) as cluster:
        yield cluster


def told(rows: np.ndarray[Any, Any]) -> tuple[Counter[int], Counter[tuple[int, int]]]:
    """Messages the auditor found, and publishes that were refused, each with its error."""
    audited = rows[(rows["kind"] == KIND["audit"]) & (rows["op"] == 0)]
    failed = rows[(rows["kind"] == KIND["publish"]) & (rows["phase"] == PHASE["fail"])]
    return (
        Counter(audited["message"].tolist()),
        Counter(zip(failed["message"].tolist(), failed["code"].tolist(), strict=True)),
    )


@pytest.mark.parametrize("case", CASES)
def test_both_worlds_agree(case: str, server: Cluster, tmp_path: Path) -> None:
    stream, producer, more = CASES[case]
    tag = f"t{list(CASES).index(case):02d}"

    def scenario(prefix: str) -> str:
        return SCENARIO.format(stream=stream, producer=producer, more=more, prefix=prefix)

    # A live run's tag stands before the subject, whose bytes count.
    (tmp_path / "sim.toml").write_text(scenario(f"{tag}."))
    simulated = mqlab.run(mqlab.load(tmp_path / "sim.toml"))
    live = run_live(scenario(""), 1, [], tmp_path / "live", cluster=server, tag=tag)
    assert live.problems == []
    assert told(live.rows) == told(simulated.record.rows)
