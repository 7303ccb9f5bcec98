"""Takes a Kafka cluster through what a run needs of it, so that all of it has been loaded once."""

from __future__ import annotations

from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.live.cluster import Cluster
from mqlab.live.worker import Files, set_up

_SCENARIO = """
name = "exercise"
[broker]
kind = "kafka"
[[topics]]
name = "in"
[[topics]]
name = "out"
[workload]
topic = "in"
messages = 1
[[stages]]
name = "copy"
module = "transactional-stage"
input = "in"
output = "out"
producer = { "transactional.id" = "copy-{instance}" }
[claims]
no_loss = { of = "in", in = "out" }
"""


def exercise(cluster: Cluster, folder: Path) -> None:
    """Topics, an idempotent and a transactional produce, a fetch, a commit. Where there is no worker: nothing."""
    scenario = folder / "exercise.toml"
    scenario.write_text(_SCENARIO)
    try:
        set_up(Files(scenario, None), cluster, "", 60.0)
    except BrokerError:
        return
