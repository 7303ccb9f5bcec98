"""Whether a cluster that was put up for the user is ready: a message goes through it and back."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mqlab.live.cluster import Cluster
from mqlab.live.worker import Files, remove, set_up

_SCENARIO = """
name = "ready"
[broker]
kind = "{kind}"
nodes = {nodes}
[[{place}s]]
name = "mqlab-probe"
[workload]
{place} = "mqlab-probe"
messages = 1
[[observers]]
name = "probe"
{place} = "mqlab-probe"
[claims]
no_loss = {{ of = "mqlab-probe", in = "mqlab-probe" }}
"""


def round_trip(cluster: Cluster, seconds: float = 60.0) -> None:
    """Returns once it went through; leaves no topic or stream of its own. Raises BrokerError."""
    place = "stream" if cluster.spec.kind == "nats" else "topic"
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "ready.toml"
        scenario.write_text(_SCENARIO.format(kind=cluster.spec.kind, nodes=cluster.spec.nodes, place=place))
        files = Files(scenario, None)
        set_up(files, cluster, "", seconds)
        remove(files, cluster, "", seconds)
