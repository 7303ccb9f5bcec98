"""A cluster of the user's own: reached, never started, stopped or harmed."""

from __future__ import annotations

import secrets
from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.live.cluster import Cluster, ClusterSpec, Node

_PATIENCE_SECONDS = 15.0  # it runs already: what is not there by then is not coming


class ExternalCluster(Cluster):
    """Its names carry a prefix nobody else has, and each run deletes what it made."""

    patience = _PATIENCE_SECONDS
    disposable = True

    def __init__(self, spec: ClusterSpec, folder: Path) -> None:
        super().__init__(spec, folder)
        self.prefix = f"mqlab-{secrets.token_hex(4)}"

    @property
    def address(self) -> str:
        return self.spec.address

    @property
    def address_option(self) -> str:
        return "--server" if self.spec.kind == "nats" else "--bootstrap"

    @property
    def server_version(self) -> str:
        return f"at {self.spec.address}"

    def start(self) -> Cluster:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def _prepare(self, ports: list[int]) -> list[Node]:
        raise BrokerError("a cluster of your own is not started here")

    def _port(self, number: int) -> int:
        raise BrokerError("the ports of a cluster of your own are not known")
