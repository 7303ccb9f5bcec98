"""A local cluster of a real broker: its nodes as child processes, on loopback only, without privileges."""

from __future__ import annotations

import shutil
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.live.disks import Disk
from mqlab.live.free_ports import Fixed, Reservation
from mqlab.live.namespaces import Member, PrivateNetwork
from mqlab.live.processes import Child, opens, wait_until
from mqlab.live.proxy import Proxies
from mqlab.live.surroundings import PLAIN, Surroundings
from mqlab.live.syncs import FailingSyncs

_LAB_MEMBER = 250  # of the private network: the lab's own probes
_FIRST_WORKER = 10  # brokers have 1 to 3


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
    disk: Disk | None = None
    sick: bool = False  # its disk fails: it may end by itself
    syncs_fail: bool = False  # also those of a process that is started meanwhile
    failing: FailingSyncs | None = None
    member: Member | None = None

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
    surroundings: Surroundings = PLAIN  # what the faults of the run need around the brokers
    address: str = ""  # of a cluster of the user's own; empty: one is started here

    @property
    def process_name(self) -> str:
        return self.name or self.kind


class Cluster(ABC):
    """Start it, or use it as a context manager; stop() always leaves nothing running."""

    ports_per_node = 1
    prefix = ""  # of every name on it
    restarts_for_disk = False  # a server whose disk failed does not write again before it was started anew
    patience = 60.0  # seconds until it must be ready
    disposable = False  # what a run made is deleted after it: others use the cluster too

    def __init__(self, spec: ClusterSpec, folder: Path, *, guarded: bool = True) -> None:
        self.spec, self.folder, self.guarded = spec, folder, guarded
        self.nodes: list[Node] = []
        self.dirty = False  # a node was hit by a fault
        self.warm = False  # a run on it went the whole way: its coordinators are loaded
        self.started_in = 0.0
        self._ports: Reservation | Fixed | None = None
        self._network: PrivateNetwork | None = None
        self.proxies: Proxies | None = None

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

    greeting = b""  # what a server says first, if it does

    @abstractmethod
    def _port(self, number: int) -> int:
        """Where clients reach node `number`, itself or behind the proxy."""

    @property
    def addresses(self) -> list[str]:
        """HOST:PORT of every node, for clients."""
        count = self.spec.nodes
        return [f"{self.host(number)}:{self.client_port(number)}" for number in range(1, count + 1)]

    def host(self, number: int) -> str:
        """Where node `number` listens: loopback, or its address in the run's private network."""
        return "127.0.0.1" if self._network is None else self._network.member(number).address

    def client_port(self, number: int) -> int:
        """The port that clients are told."""
        return self._port(number) if self.proxies is None else self.proxies.ports[number - 1]

    def _answers(self, node: Node) -> bool:
        """Whether the node's port is open and speaks; the real round trip comes after."""
        host, port = self.host(node.number), self._port(node.number)
        if self._network is not None:
            return self._network.member(_LAB_MEMBER).can_connect(host, port, self.greeting)
        return opens(host, port, self.greeting)

    def start(self) -> Cluster:
        """Raises BrokerError with the reason; nothing is left running then."""
        began = time.monotonic()
        count = self.spec.nodes * self.ports_per_node
        first = self.spec.first_port
        self._ports = Reservation(count) if first is None else Fixed(list(range(first, first + count)))
        try:
            shutil.rmtree(self.folder, ignore_errors=True)  # a cluster begins empty
            self.folder.mkdir(parents=True)
            if self.spec.surroundings.network:
                self._network = PrivateNetwork(self.folder / "network")
            if self.spec.surroundings.proxies:
                self.proxies = Proxies(self.spec.kind, self.spec.nodes)
            self.nodes = self._prepare(self._ports.ports)
            if self.proxies is not None:
                self.proxies.start([self._port(node.number) for node in self.nodes])
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

    def _with_data(self, folder: Path, fill: Callable[[Path], None]) -> tuple[Path, Disk | None]:
        """A node's data folder, filled: in its own folder, or on a disk of its own."""
        if not self.spec.surroundings.disks:
            fill(folder / "data")
            return folder / "data", None
        begin, disk = folder / "begin", Disk(folder / "disk.img", folder / "disk")
        begin.mkdir()
        fill(begin / "data")
        disk.make(begin)
        shutil.rmtree(begin)
        return disk.folder / "data", disk

    def log_bytes(self, log: str) -> int:
        """What a log's segments take at the node that has most of it; -1 where that cannot be seen."""
        return -1

    def _launch(self, node: Node) -> None:
        command = node.command
        if node.disk is not None:
            node.disk.wait_unmounted()
            command = node.disk.command(command)
        if self._network is not None:
            command = self._network.member(node.number).command(command)
        node.child = Child(
            node.name,
            command,
            log=node.log,
            cwd=node.folder,
            guarded=self.guarded,
            environment=node.environment,
        )
        if node.syncs_fail:
            self._mend_syncs(node)  # of the process before
            self._fail_syncs(node)

    @staticmethod
    def _died(node: Node) -> bool:
        gone = node.child is not None and not node.child.alive
        return gone and not node.downed and not node.sick

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

    def settle(self) -> None:
        """What was made so far (topics, streams, groups) is as old as on a broker in use: no power loss takes it."""
        for node in self.nodes:
            if node.disk is not None and node.child is not None:
                node.disk.sync(node.child.pid)

    def set_quotas(self, quotas: Mapping[str, Mapping[str, int]]) -> None:
        """What each client, by its name, may write and read a second. Raises BrokerError."""
        if quotas:
            raise BrokerError(f"{self.spec.kind} has no quotas that the lab may set")

    def power_loss(self, number: int) -> None:
        """What the node had not synced is gone, and so is its process. Needs surroundings with disks."""
        node = self.node(number)
        if node.disk is not None and node.child is not None and node.child.alive:
            node.child.signal(signal.SIGSTOP)
            node.disk.cut_power(node.child.pid)
        self.kill(number)

    def disk_full(self, number: int) -> None:
        """The node finds no room for what it writes. Needs surroundings with disks."""
        node = self.node(number)
        node.sick = self.dirty = True
        if node.disk is not None and node.child is not None and node.child.alive:
            node.disk.fill(node.child.pid)

    def fail_syncs(self, number: int) -> None:
        """Each fsync of the node is an error. Raises BrokerError."""
        node = self.node(number)
        node.sick = self.dirty = True
        if not node.syncs_fail:
            node.syncs_fail = True
            self._fail_syncs(node)

    @staticmethod
    def _fail_syncs(node: Node) -> None:
        if node.child is not None and node.child.alive:
            node.failing = FailingSyncs(node.child.pid, node.folder / "syncs.log")

    @staticmethod
    def _mend_syncs(node: Node) -> bool:
        """Whether one failed: then the node's process is about to end, or has."""
        failing, node.failing = node.failing, None
        return failing is not None and failing.end()

    def heal_disk(self, number: int) -> None:
        """There is room, syncs succeed, and who has ended, or is about to, or goes on without writing, is started anew.
        A disk is well or not: the end of one fault ends all that it has."""
        node = self.node(number)
        node.syncs_fail = False
        struck = self._mend_syncs(node)
        running = node.child is not None and node.child.alive
        if node.disk is not None:
            node.disk.make_room(node.child.pid if running and node.child is not None else None)
        if self.restarts_for_disk or struck or not running:
            self.bring_back(number)
        node.sick = False

    def ended_itself(self) -> list[int]:
        """Nodes that gave up when their disk failed."""
        return [n.number for n in self.nodes if n.sick and n.child is not None and not n.child.alive and not n.downed]

    def cut(self, sender: int, receiver: int, *, lost: bool) -> None:
        """Between members of the private network: what `sender` sends to `receiver` is lost, or no longer."""
        if self._network is not None:
            self.dirty = True
            (self._network.cut if lost else self._network.join)(sender, receiver)

    @staticmethod
    def member_of_worker(process: int) -> int:
        return _FIRST_WORKER + process

    def inside(self, command: list[str], process: int | None = None) -> list[str]:
        """Runs a command where it reaches the brokers: a worker (by its process number) or, None, the lab's own."""
        if self._network is None:
            return command
        return self._network.member(_LAB_MEMBER if process is None else self.member_of_worker(process)).command(command)

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
            self._mend_syncs(node)
        if self.proxies is not None:
            self.proxies.stop()
        if self._network is not None:
            self._network.stop()
        if self._ports is not None:
            self._ports.release()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
