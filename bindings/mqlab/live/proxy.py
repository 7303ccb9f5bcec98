"""The lab's proxy between clients and brokers: it finds one request, and delays it, loses its answer, or breaks the
connection behind it.

One listener for each broker node, whose address the node advertises to clients; brokers talk to each other past it.
Bytes pass as they come, cut at the protocol's frames (frames.py). A request that is held keeps back what follows it on
its connection, as a slow network would, and reaches the broker even if its client has hung up by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass

from mqlab.errors import BrokerError
from mqlab.live.frames import Dialect, Frame, dialect_of
from mqlab.live.free_ports import Reservation

_HOST = "127.0.0.1"
_CHUNK = 1 << 16


@dataclass
class Rule:
    """What is done to one request. `matched(owner)` is called on the proxy's thread, once."""

    kind: str  # "end_txn", "publish" …
    owners: frozenset[str]  # names of the clients whose requests count
    nth: int
    action: str  # "delay", "drop_response", "reset"
    delay: float  # seconds
    matched: Callable[[str], None]
    seen: int = 0

    def wants(self, frame: Frame, owner: str) -> bool:
        """Counts a request that it concerns; true for the nth."""
        if frame.kind != self.kind or owner not in self.owners:
            return False
        self.seen += 1
        return self.seen == self.nth


@dataclass(eq=False)
class _Connection:
    """A client's, to one node."""

    target: int
    dialect: Dialect
    writer: asyncio.StreamWriter

    def abort(self) -> None:
        """The client gets a reset at once, and nothing that was still on its way."""
        peer = self.writer.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Proxies:
    """A proxy for each node of a cluster. start() with the nodes' own ports; stop() ends every connection."""

    def __init__(self, kind: str, nodes: int) -> None:
        self._kind = kind
        self._reserved = Reservation(nodes)
        self.ports = self._reserved.ports  # where clients connect
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mqlab-proxy", daemon=True)
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._rule: Rule | None = None
        self._open: set[_Connection] = set()

    def start(self, targets: list[int]) -> None:
        self._thread.start()
        opened = asyncio.run_coroutine_threadsafe(self._listen(targets), self._loop)
        try:
            opened.result(10)
        except OSError as error:
            raise BrokerError(f"the proxy could not listen: {error}") from None

    def arm(self, rule: Rule | None) -> None:
        """From now on this rule; None: everything passes."""
        self._rule = rule

    def stop(self) -> None:
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()
        self._reserved.release()

    async def _listen(self, targets: list[int]) -> None:
        for port, target in zip(self.ports, targets, strict=True):
            self._servers.append(await asyncio.start_server(self._accepted(target), _HOST, port))

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accepted(self, target: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(self._serve(target, reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return accept

    async def _serve(self, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client's connection, until both directions have ended."""
        try:
            up_reader, up_writer = await asyncio.open_connection(_HOST, target)
        except OSError:
            writer.close()  # the node is down: the client sees a connection that ends at once
            return
        dialect = dialect_of(self._kind)
        connection = _Connection(target, dialect, writer)
        self._open.add(connection)
        down = asyncio.ensure_future(self._answers(dialect, up_reader, writer))
        try:
            await self._requests(connection, reader, up_writer)
        finally:
            self._open.discard(connection)
            down.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await down
            for end in (writer, up_writer):
                end.close()

    async def _requests(
        self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                for frame in connection.dialect.requests(chunk):
                    rule = self._matching(connection.dialect, frame)
                    if rule is not None and rule.action == "delay":
                        await asyncio.sleep(rule.delay)
                    writer.write(frame.data)
                    if rule is not None and rule.action == "reset":
                        await writer.drain()
                        self._reset(connection)
                await writer.drain()

    def _matching(self, dialect: Dialect, frame: Frame) -> Rule | None:
        """The rule, if this is its request; it is told at once."""
        rule = self._rule
        if rule is None or not rule.wants(frame, dialect.owner):
            return None
        self._rule = None
        if rule.action == "drop_response":
            dialect.lose_answer(frame)
        rule.matched(dialect.owner)
        return rule

    def _reset(self, hit: _Connection) -> None:
        for connection in self._open:
            if connection.target == hit.target and connection.dialect.owner == hit.dialect.owner:
                connection.abort()

    @staticmethod
    async def _answers(dialect: Dialect, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The broker's side. When the broker hangs up, so does the proxy; when the client has, answers go nowhere."""
        with contextlib.suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                for frame in dialect.answers(chunk):
                    writer.write(frame)
                await writer.drain()
        writer.close()
