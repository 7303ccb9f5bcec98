"""Local brokers: for a live run, or kept up for the user by `mqlab broker`."""

from __future__ import annotations

import json
import os
import shutil
import signal
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from mqlab.errors import BrokerError
from mqlab.kafka_jars import cache_dir
from mqlab.live.cluster import Cluster, ClusterSpec
from mqlab.live.processes import wait_until
from mqlab.live.ready import round_trip

KINDS = ("kafka", "nats")


def make_cluster(spec: ClusterSpec, folder: Path, *, guarded: bool = True) -> Cluster:
    """Not started yet. Raises BrokerError for a kind or a number of nodes that cannot be run here."""
    if spec.kind not in KINDS:
        raise BrokerError(f"{spec.kind}: the live world runs {' and '.join(KINDS)}")
    if spec.address:
        from mqlab.live.external import ExternalCluster

        return ExternalCluster(spec, folder)
    if spec.nodes not in (1, 3):
        raise BrokerError(f"{spec.nodes} nodes: a local cluster has 1 or 3")
    if spec.kind == "nats":
        from mqlab.live.nats import NatsCluster

        return NatsCluster(spec, folder, guarded=guarded)
    from mqlab.live.kafka import KafkaCluster

    return KafkaCluster(spec, folder, guarded=guarded)


def start_cluster(spec: ClusterSpec, folder: Path, *, guarded: bool = True) -> Cluster:
    """Starts a cluster whose data and logs lie in `folder`. Use it as a context manager. Raises BrokerError."""
    return make_cluster(spec, folder, guarded=guarded).start()


# ---- brokers kept up for the user ----


@dataclass(frozen=True)
class Standing:
    """A cluster that `broker up` left running."""

    kind: str
    version: str
    address: str
    folder: str
    pids: list[int]
    started: list[float]  # creation time of each process: a pid alone may be somebody else's by now

    @property
    def alive(self) -> list[int]:
        return [pid for pid, born in zip(self.pids, self.started, strict=True) if _is(pid, born)]


def _is(pid: int, born: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - born) < 1.0
    except psutil.Error:
        return False


def _state_file(kind: str) -> Path:
    return cache_dir() / "brokers" / kind / "state.json"


def status(kind: str) -> Standing | None:
    """The cluster of this kind that was put up, if one is remembered; look at `.alive`."""
    try:
        return Standing(**json.loads(_state_file(kind).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def up(kind: str, nodes: int = 1, version: str = "", port: int | None = None) -> Standing:
    """Starts a cluster that stays until down(). Raises BrokerError; also when one is up already."""
    before = status(kind)
    if before is not None and before.alive:
        raise BrokerError(f"{kind} is up already at {before.address}")
    folder = _state_file(kind).parent
    shutil.rmtree(folder, ignore_errors=True)
    cluster = make_cluster(ClusterSpec(kind, version, nodes, first_port=port), folder, guarded=False).start()
    try:
        round_trip(cluster)
    except BaseException:
        cluster.stop()
        raise
    pids = [node.child.pid for node in cluster.nodes if node.child is not None]
    standing = Standing(
        kind, cluster.server_version, cluster.address, str(folder), pids,
        [psutil.Process(pid).create_time() for pid in pids],
    )  # fmt: skip
    _state_file(kind).write_text(json.dumps(asdict(standing)))
    return standing


def down(kind: str) -> bool:
    """Ends the cluster that up() left and deletes its data. False when there was none."""
    standing = status(kind)
    if standing is None:
        return False
    for pid in standing.alive:
        os.kill(pid, signal.SIGTERM)
    if not wait_until(lambda: not standing.alive, 10.0):
        for pid in standing.alive:
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(standing.folder, ignore_errors=True)
    return bool(standing.pids)
