"""A local Kafka cluster (KRaft, every node broker and controller), started fast: see kafka_image.py for how."""

from __future__ import annotations

import base64
import os
import socket
import uuid
from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.kafka_jars import full_version
from mqlab.live import kafka_image
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
    ports_per_node = 2
    _image: kafka_image.Image | None = None

    @property
    def address(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._client_ports)

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
        self._client_ports, controllers = ports[: self.spec.nodes], ports[self.spec.nodes :]
        cluster_id = random_id()
        nodes = []
        for index in range(self.spec.nodes):
            name = f"{self.spec.process_name}-{index + 1}"
            folder = self.folder / name
            folder.mkdir(parents=True)
            image.format(folder / "data", cluster_id, index + 1, random_id())
            (folder / "server.properties").write_text(self._configuration(folder, index, controllers))
            command = image.command(folder / "server.properties", heap_mb=256 if self.spec.nodes > 1 else 512)
            nodes.append(Node(name, index + 1, folder, command, environment=_environment()))
        return nodes

    def _configuration(self, folder: Path, index: int, controllers: list[int]) -> str:
        client = self._client_ports[index]
        voters = ",".join(f"{number + 1}@127.0.0.1:{port}" for number, port in enumerate(controllers))
        fixed = {
            "process.roles": "broker,controller",
            "node.id": str(index + 1),
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controllers[index]}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{client}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(folder / "data"),
        }
        return "".join(f"{key}={value}\n" for key, value in {**properties_of(self.spec), **fixed}.items())

    def _answers(self, node: Node) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._client_ports[node.number - 1]), timeout=1):
                return True
        except OSError:
            return False


def _environment() -> dict[str, str]:
    """Without the user's Java options: they would change what is measured."""
    dropped = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "KAFKA_OPTS")
    return {key: value for key, value in os.environ.items() if key not in dropped}
