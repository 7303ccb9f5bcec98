"""Requests to a NATS server as it reads them (nats.io, "NATS Protocol"), for what no client library lets one ask.

request SUBJECT [JSON]      the answer's JSON
publish SUBJECT BYTES [ID]  to a stream, with Nats-Msg-Id: the answer's JSON; "closed: …" when the server hangs up
info KEY                    of the server's greeting
"""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

from mqlab.errors import BrokerError

_WAIT = 6.0


class NatsRequests:
    """One connection, made anew for each entry."""

    def __init__(self, address: str) -> None:
        host, _, port = address.split(",", maxsplit=1)[0].removeprefix("nats://").rpartition(":")
        self._address = (host, int(port))
        self._socket: socket.socket | None = None
        self._made: list[str] = []  # streams, to be removed
        self.prefix = ""

    def begin(self, prefix: str) -> None:
        self._remove()
        self.prefix = prefix
        self._replies: list[str] = []
        self._connect()

    def _remove(self) -> None:
        while self._made:
            self._asked(f"$JS.API.STREAM.DELETE.{self._made.pop()}", b"", b"")

    def _connect(self) -> None:
        self._hang_up()
        try:
            self._socket = socket.create_connection(self._address, timeout=_WAIT)
        except OSError as error:
            raise BrokerError(f"nats at {self._address[0]}:{self._address[1]}: {error.strerror}") from None
        self._lines = self._socket.makefile("rb")
        self._greeting: dict[str, Any] = json.loads(self._lines.readline().removeprefix(b"INFO "))
        self._send(b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\nSUB _I.1 1\r\n')

    def _send(self, data: bytes) -> None:
        assert self._socket is not None
        self._socket.sendall(data)

    def ask(self, request: str) -> Any:
        kind, subject, *rest = request.replace("{}", self.prefix).split(" ", 2)
        if kind == "info":
            return self._greeting.get(subject)
        if kind == "answer":
            self._send(f"PUB {self._replies[int(subject) - 1]} {len(rest[0])}\r\n{rest[0]}\r\nPING\r\n".encode())
            while not self._lines.readline().startswith(b"PONG"):
                pass
            return "ok"
        if kind == "next":
            wish = b'{"batch":1,"no_wait":true}'
            return self._asked(f"$JS.API.CONSUMER.MSG.NEXT.{subject}.{rest[0]}", b"", wish)
        if subject.startswith("$JS.API.STREAM.CREATE."):
            self._made.append(subject.rpartition(".")[2])
        if kind == "request":
            return self._asked(subject, b"", (rest[0] if rest else "").encode())
        size, _, message_id = rest[0].partition(" ")
        named = message_id[1:].replace(":", ": ", 1) if message_id.startswith("+") else f"Nats-Msg-Id: {message_id}"
        header = f"NATS/1.0\r\n{named}\r\n\r\n".encode() if message_id else b""
        return self._asked(subject, header, b"x" * int(size))

    def _asked(self, subject: str, header: bytes, payload: bytes) -> Any:
        verb = f"HPUB {subject} _I.1 {len(header)} {len(header) + len(payload)}"
        plain = f"PUB {subject} _I.1 {len(payload)}"
        with contextlib.suppress(OSError):  # where the server has hung up, its reason is still to be read
            self._send((verb if header else plain).encode() + b"\r\n" + header + payload + b"\r\n")
        return self._answer()

    def _answer(self) -> Any:
        try:
            while line := self._lines.readline():
                word = line.split(b" ", 1)[0].strip().upper()
                if word == b"PING":
                    self._send(b"PONG\r\n")
                elif word == b"-ERR":
                    reason = line.decode().strip().removeprefix("-ERR ").strip("'")
                    self._connect()
                    return f"closed: {reason}"
                elif word in (b"MSG", b"HMSG"):
                    return self._message(line)
        except TimeoutError:
            return "no answer"
        except OSError:
            pass
        self._connect()
        return "closed"

    def _message(self, line: bytes) -> Any:
        parts = line.split()
        total = int(parts[-1])
        head = int(parts[-2]) if line.upper().startswith(b"HMSG") else 0
        data = self._lines.read(total + 2)[:total]
        if len(parts) - (5 if head or line.upper().startswith(b"HMSG") else 4) == 1 and parts[3].startswith(b"$JS.ACK"):
            self._replies.append(parts[3].decode())
            return {"subject": parts[1].decode(), "size": total - head}
        if head and not data[head:]:
            return data[:head].split(b"\r\n")[0].decode().removeprefix("NATS/1.0").strip()  # "503"
        try:
            return json.loads(data[head:])
        except ValueError:
            return data[head:].decode(errors="replace")

    def close(self) -> None:
        """Leaves no stream of its own behind."""
        with contextlib.suppress(BrokerError):
            self._remove()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._lines.close()
            self._socket.close()
            self._socket = None
