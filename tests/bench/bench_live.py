"""A live producer's pace beside its client library's own: same broker, topic, settings and size, taken in turns."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from mqlab import _core
from mqlab.live.brokers import start_cluster
from mqlab.live.cluster import ClusterSpec
from mqlab.live.controller import run_live
from mqlab.live.row_files import Rows

BARE = Path(__file__).resolve().parents[2] / "build/release/tests/bench/bare_kafka_producer"
SETTINGS = {"acks": "1", "linger.ms": "5", "queue.buffering.max.messages": "1000000", "enable.idempotence": "false"}
SIZES = {100: 600_000, 1024: 200_000}  # bytes of a message → messages
ROUNDS = 3
SCENARIO = """
name = "pace"
[broker]
kind = "kafka"
[client]
flavour = "librdkafka"
[[topics]]
name = "numbers"
partitions = 1
[workload]
topic = "numbers"
rate = "10000000/s"
messages = {messages}
size = "{size}B"
producer = {{ {settings} }}
[claims]
throughput = {{ of = "numbers", in = "numbers", at_least = "1/s" }}
[limits]
live_timeout = "5m"
"""


def pace(rows: Rows) -> float:
    """Acknowledged messages a second, from the first request to the last acknowledgement."""
    publish = rows[rows["kind"] == _core.KINDS.index("publish")]
    asked = publish[publish["phase"] == _core.PHASES.index("invoke")]["time"]
    acked = publish[publish["phase"] == _core.PHASES.index("ok")]["time"]
    return float(len(acked) / ((np.max(acked) - np.min(asked)) / 1e9))


def main() -> None:
    settings = ", ".join(f'"{key}" = {json.dumps(value)}' for key, value in SETTINGS.items())
    pairs = [f"{key}={value}" for key, value in SETTINGS.items()]
    with (
        tempfile.TemporaryDirectory() as folder,
        start_cluster(ClusterSpec("kafka", "", 1), Path(folder) / "broker") as cluster,
    ):
        for size, messages in SIZES.items():
            ours, bare = [], []
            for turn in range(ROUNDS):
                tag = f"s{size}t{turn}"
                scenario = SCENARIO.format(messages=messages, size=size, settings=settings)
                run = run_live(scenario, 1, [], Path(folder) / tag, cluster, tag=tag)
                ours.append(pace(run.rows))
                topic = f"{tag}-numbers"  # the very topic, now with the same messages in it
                command = [str(BARE), cluster.address, topic, str(messages), str(size), *pairs]
                bare.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            value, peer = statistics.median(ours), statistics.median(bare)
            row = {"name": f"live Kafka producer, {size} B", "value": value, "unit": "messages/s"}
            print(json.dumps({**row, "peer": "librdkafka alone", "peer_value": peer}), flush=True)


if __name__ == "__main__":
    main()
