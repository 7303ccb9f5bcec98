"""A local Kafka cluster (KRaft, every node broker and controller), started fast: see kafka_image.py for how."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.kafka_jars import full_version
from mqlab.live import kafka_image, kafka_quotas
from mqlab.live.cluster import Cluster, ClusterSpec, Node

# One machine instead of a data centre: small internal topics, a short wait for a group's first members.
_SMALL = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "250",  # the instances of a stage start together: one generation holds them all
    "auto.create.topics.enable": "false",
    "log.cleaner.dedupe.buffer.size": "8388608",  # the default does not fit a small heap: the start dies
    "num.network.threads": "2",
    "num.io.threads": "4",
    "controlled.shutdown.enable": "true",
}
# A dead node is noticed within seconds, so that a live story takes seconds.
_FAST_FAILOVER = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "250",
    "controller.quorum.request.timeout.ms": "1000",
    "replica.lag.time.max.ms": "3000",
    "controller.socket.timeout.ms": "3000",
}


def random_id() -> str:
    """22 characters of base64url, as Kafka names clusters and folders."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def properties_of(spec: ClusterSpec) -> dict[str, str]:
    """The lab's settings for one machine, and the scenario's over them."""
    replicas = str(min(spec.nodes, 3))
    in_sync = str(min(spec.nodes, 2))
    own = {
        **_SMALL,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
    }
    return {**own, **(_FAST_FAILOVER if spec.nodes > 1 else {}), **spec.properties}


class KafkaCluster(Cluster):
    ports_per_node = 3
    _image: kafka_image.Image | None = None

    @property
    def address(self) -> str:
        return ",".join(self.addresses)

    @property
    def address_option(self) -> str:
        return "--bootstrap"

    @property
    def server_version(self) -> str:
        return self._version

    def _prepare(self, ports: list[int]) -> list[Node]:
        try:
            self._version = full_version(self.spec.version or kafka_image.default_version())
        except ValueError as error:
            raise BrokerError(str(error)) from None
        image = self._image or kafka_image.prepared(self._version)
        count = self.spec.nodes
        self._client_ports, self._controllers, self._internal = ports[:count], ports[count : 2 * count], ports[-count:]
        cluster_id = random_id()
        nodes = []
        for index in range(self.spec.nodes):
            name = f"{self.spec.process_name}-{index + 1}"
            folder = self.folder / name
            folder.mkdir(parents=True)
            data, disk = self._with_data(
                folder, partial(image.format, cluster_id=cluster_id, node_id=index + 1, directory_id=random_id())
            )
            (folder / "server.properties").write_text(self._configuration(data, index))
            command = image.command(folder / "server.properties", heap_mb=256 if self.spec.nodes > 1 else 512)
            nodes.append(Node(name, index + 1, folder, command, environment=_environment(), disk=disk))
        return nodes

    def set_quotas(self, quotas: Mapping[str, Mapping[str, int]]) -> None:
        if not quotas:
            return
        self.dirty = True  # what was written and read counts for seconds: the next run wants fresh nodes
        program = [sys.executable, "-m", kafka_quotas.__name__, ",".join(self.addresses), json.dumps(quotas)]
        done = subprocess.run(self.inside(program), capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise BrokerError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "quotas were not set")

    def log_bytes(self, log: str) -> int:
        found = [size for node in self.nodes if (size := _segments(_data_of(node) / log)) is not None]
        return max(found, default=-1)

    def _port(self, number: int) -> int:
        return self._client_ports[number - 1]

    def _configuration(self, data: Path, index: int) -> str:
        host = self.host(index + 1)
        voters = ",".join(
            f"{number + 1}@{self.host(number + 1)}:{port}" for number, port in enumerate(self._controllers)
        )
        # Brokers talk to each other past the proxy that clients may go through.
        fixed = {
            "process.roles": "broker,controller",
            "node.id": str(index + 1),
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://{host}:{self._client_ports[index]},INTERNAL://{host}:{self._internal[index]},"
            f"CONTROLLER://{host}:{self._controllers[index]}",
            "advertised.listeners": f"PLAINTEXT://{host}:{self.client_port(index + 1)},"
            f"INTERNAL://{host}:{self._internal[index]}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
            "log.dirs": str(data),
        }
        return "".join(f"{key}={value}\n" for key, value in {**properties_of(self.spec), **fixed}.items())


def _data_of(node: Node) -> Path:
    return (node.folder if node.disk is None else node.disk.folder) / "data"


def _segments(log: Path) -> int | None:
    """Bytes of its segments; None where there is no such log, or one of them went just now."""
    try:
        return sum(file.stat().st_size for file in log.glob("*.log")) if log.is_dir() else None
    except OSError:
        return None


def _environment() -> dict[str, str]:
    """Without the user's Java options: they would change what is measured."""
    dropped = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "KAFKA_OPTS")
    return {key: value for key, value in os.environ.items() if key not in dropped}
