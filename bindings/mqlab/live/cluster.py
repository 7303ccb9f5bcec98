"""A local cluster of a real broker: its nodes as child processes, on loopback only, without privileges."""

from __future__ import annotations

import shutil
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.live.free_ports import Fixed, Reservation
from mqlab.live.processes import Child, wait_until


@dataclass
class Node:
    """One server. `number` is from 1, as in the process's name (kafka-2)."""

    name: str
    number: int
    folder: Path
    command: list[str]
    child: Child | None = None
    paused: bool = False
    downed: bool = False  # by the lab: its absence is no error
    environment: dict[str, str] | None = None

    @property
    def log(self) -> Path:
        return self.folder / "server.log"


@dataclass
class ClusterSpec:
    """What is asked for: the broker's own properties by their own names."""

    kind: str
    version: str
    nodes: int
    properties: Mapping[str, str] = field(default_factory=dict)
    name: str = ""  # of its processes; default: the kind
    first_port: int | None = None  # None: free ports are looked for

    @property
    def process_name(self) -> str:
        return self.name or self.kind


class Cluster(ABC):
    """Start it, or use it as a context manager; stop() always leaves nothing running."""

    ports_per_node = 1

    def __init__(self, spec: ClusterSpec, folder: Path, *, guarded: bool = True) -> None:
        self.spec, self.folder, self.guarded = spec, folder, guarded
        self.nodes: list[Node] = []
        self.dirty = False  # a node was hit by a fault
        self.warm = False  # a run on it went the whole way: its coordinators are loaded
        self.started_in = 0.0
        self._ports: Reservation | Fixed | None = None

    @property
    @abstractmethod
    def address(self) -> str:
        """What clients are given."""

    @property
    @abstractmethod
    def address_option(self) -> str:
        """The worker's option for it."""

    @property
    @abstractmethod
    def server_version(self) -> str:
        """The version that runs."""

    @abstractmethod
    def _prepare(self, ports: list[int]) -> list[Node]:
        """Folders, configuration, commands."""

    @abstractmethod
    def _answers(self, node: Node) -> bool:
        """Whether the node's port is open and speaks; the real round trip comes after."""

    def start(self) -> Cluster:
        """Raises BrokerError with the reason; nothing is left running then."""
        began = time.monotonic()
        count = self.spec.nodes * self.ports_per_node
        first = self.spec.first_port
        self._ports = Reservation(count) if first is None else Fixed(list(range(first, first + count)))
        try:
            shutil.rmtree(self.folder, ignore_errors=True)  # a cluster begins empty
            self.folder.mkdir(parents=True)
            self.nodes = self._prepare(self._ports.ports)
            for node in self.nodes:
                self._launch(node)
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        self.started_in = time.monotonic() - began
        return self

    def wait_ready(self, seconds: float = 60.0) -> None:
        """Until every node that should be there speaks. Raises BrokerError."""
        for node in self.nodes:
            if node.downed:
                continue
            answered = wait_until(lambda node=node: self._died(node) or self._answers(node), seconds)  # type: ignore[misc]
            self.check()
            if not answered:
                last = node.child.last_lines() if node.child else ""
                raise BrokerError(f"{node.name} did not answer within {seconds:.0f} s: {last}")

    def _launch(self, node: Node) -> None:
        node.child = Child(
            node.name,
            node.command,
            log=node.log,
            cwd=node.folder,
            guarded=self.guarded,
            environment=node.environment,
        )

    @staticmethod
    def _died(node: Node) -> bool:
        return node.child is not None and not node.child.alive and not node.downed

    def lost_one(self) -> bool:
        """A node ended that the lab did not end."""
        return any(self._died(node) for node in self.nodes)

    def check(self) -> None:
        """Raises BrokerError when a node ended that the lab did not end."""
        for node in self.nodes:
            if self._died(node) and node.child is not None:
                raise BrokerError(
                    f"{node.name} ended by itself (exit {node.child.returncode}): {node.child.last_lines()}"
                )

    # ---- faults; `number` is from 1 ----

    def node(self, number: int) -> Node:
        return self.nodes[number - 1]

    def kill(self, number: int) -> None:
        node = self.node(number)
        node.downed = self.dirty = True
        if node.child is not None:
            node.child.kill()

    def terminate(self, number: int) -> None:
        """SIGTERM; does not wait."""
        node = self.node(number)
        node.downed = self.dirty = True
        if node.child is not None:
            node.child.signal(signal.SIGTERM)

    def bring_back(self, number: int) -> None:
        """Starts a node that was killed or terminated; returns before it is ready."""
        node = self.node(number)
        if node.child is not None and node.child.alive:
            node.child.kill()
        self._launch(node)
        node.downed = False

    def pause(self, number: int) -> None:
        node = self.node(number)
        node.paused = self.dirty = True
        if node.child is not None:
            node.child.signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        node = self.node(number)
        node.paused = False
        if node.child is not None:
            node.child.signal(signal.SIGCONT)

    def stop(self) -> None:
        """Ends every node; data and logs stay in the folder."""
        for node in self.nodes:
            node.downed = True
            if node.child is not None:
                node.child.kill()
        if self._ports is not None:
            self._ports.release()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
