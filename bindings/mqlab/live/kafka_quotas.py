"""Quotas of a Kafka cluster's clients (KIP-546), asked for by hand: no client library for C has these requests.

As a program it is given host:port,… of all nodes and {client.id: {quota: bytes per second}}, and returns once every
node knows of them. It runs where the nodes are reached, which may be another network than the lab's own.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from collections.abc import Mapping

Quotas = Mapping[str, Mapping[str, int]]
_SECONDS = 20.0  # a cluster that is up takes well below one
_CLIENT = b"mqlab"
_DESCRIBE, _ALTER = 48, 49  # https://kafka.apache.org/protocol#protocol_api_keys
_ANY_NAMED = 2  # DescribeClientQuotasRequest.json, MatchType


class NotSet(Exception):  # noqa: N818  # says what became of them
    """The cluster did not take the quotas, or not in time."""


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def altering(quotas: Quotas) -> bytes:
    """AlterClientQuotas version 0: entries of an entity and its values, then whether to validate only."""
    body = struct.pack(">i", len(quotas))
    for client, values in quotas.items():
        body += struct.pack(">i", 1) + _text("client-id") + _text(client)
        body += struct.pack(">i", len(values))
        for key, value in values.items():
            body += _text(key) + struct.pack(">d?", float(value), False)
    return body + struct.pack(">?", False)


def describing() -> bytes:
    """DescribeClientQuotas version 0: of all clients that are named, and of nothing else."""
    return struct.pack(">i", 1) + _text("client-id") + struct.pack(">bh?", _ANY_NAMED, -1, True)


class Reader:
    """Fields of an answer, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(">" + form, self._data, self._at)
        self._at += struct.calcsize(">" + form)
        return int(value)

    def text(self) -> str:
        """Empty where there is none."""
        size = max(self.number("h"), 0)
        self._at += size
        return self._data[self._at - size : self._at].decode(errors="replace")


def problem_in(answer: bytes) -> str:
    """What an answer to altering() says is wrong; empty when all is well."""
    read = Reader(answer)
    read.number("i")  # throttle time
    for _ in range(read.number("i")):
        code, message = read.number("h"), read.text()
        for _ in range(read.number("i")):
            message += f" {read.text()} {read.text()}"
        if code != 0:
            return f"error {code} {message}"
    return ""


def quotas_in(answer: bytes) -> dict[str, dict[str, int]]:
    """What an answer to describing() tells, by client."""
    read = Reader(answer)
    read.number("i")
    code, message = read.number("h"), read.text()
    if code != 0:
        raise NotSet(f"error {code} {message}")
    found: dict[str, dict[str, int]] = {}
    for _ in range(read.number("i")):
        client = ""
        for _ in range(read.number("i")):
            read.text()
            client = read.text()
        found[client] = {read.text(): read.number("d") for _ in range(read.number("i"))}
    return found


def ask(address: str, key: int, body: bytes) -> bytes:
    """One request over a connection of its own; the answer behind its correlation id. Raises OSError."""
    host, _, port = address.rpartition(":")
    request = struct.pack(">hhih", key, 0, 1, len(_CLIENT)) + _CLIENT + body
    with socket.create_connection((host, int(port)), timeout=5.0) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        return _exactly(connection, size)[4:]


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise OSError("the node closed the connection")
        data += more
    return data


def limit(addresses: list[str], quotas: Quotas) -> None:
    """Raises NotSet with the last reason."""
    latest = time.monotonic() + _SECONDS
    while True:
        try:
            reason = problem_in(ask(addresses[0], _ALTER, altering(quotas)))
            known = [quotas_in(ask(address, _DESCRIBE, describing())) for address in addresses]
            if not reason and all(_holds(each, quotas) for each in known):
                return
            reason = reason or "not all nodes know of them"
        except (OSError, NotSet) as error:
            reason = str(error)
        if time.monotonic() > latest:
            raise NotSet(reason)
        time.sleep(0.05)


def _holds(known: Quotas, wanted: Quotas) -> bool:
    return all(known.get(client) == values for client, values in wanted.items())


if __name__ == "__main__":
    try:
        limit(sys.argv[1].split(","), json.loads(sys.argv[2]))
    except NotSet as error:
        sys.exit(f"quotas: {error}")
