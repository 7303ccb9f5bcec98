"""Just enough of the wire protocols to tell requests apart: Kafka's frames, NATS's lines."""

from __future__ import annotations

import json
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

# https://kafka.apache.org/protocol#protocol_api_keys; the names are those of anchors (core/faults/anchor.h).
KAFKA_REQUESTS = {
    0: "produce", 1: "fetch", 2: "list_offsets", 3: "metadata", 8: "offset_commit", 9: "offset_fetch",
    10: "find_coordinator", 11: "join_group", 12: "heartbeat", 13: "leave_group", 14: "sync_group",
    22: "init_producer_id", 23: "offset_for_leader_epoch", 24: "add_partitions_to_txn",
    25: "add_offsets_to_txn", 26: "end_txn", 28: "txn_offset_commit",
}  # fmt: skip


@dataclass(frozen=True)
class Frame:
    """A request, or bytes that are none (kind "")."""

    data: bytes
    kind: str
    token: str = ""  # by which its answer is known


class Dialect(ABC):
    """The two directions of one connection. `owner`: the client's name, once it has given it."""

    def __init__(self) -> None:
        self.owner = ""
        self._up = b""
        self._down = b""
        self._lost: set[str] = set()

    def lose_answer(self, frame: Frame) -> None:
        self._lost.add(frame.token)

    def requests(self, chunk: bytes) -> Iterator[Frame]:
        """The whole frames from the client, as far as they have come."""
        self._up += chunk
        while (size := self._length(self._up)) is not None:
            data, self._up = self._up[:size], self._up[size:]
            yield self._request(data)

    def answers(self, chunk: bytes) -> Iterator[bytes]:
        """The whole frames from the broker, without those that are to be lost."""
        self._down += chunk
        while (size := self._length(self._down)) is not None:
            data, self._down = self._down[:size], self._down[size:]
            token = self._token(data) if self._lost else ""
            if token in self._lost:
                self._lost.discard(token)
            else:
                yield data

    @staticmethod
    @abstractmethod
    def _length(buffer: bytes) -> int | None:
        """Bytes of the first frame; None while it is not whole."""

    @abstractmethod
    def _request(self, data: bytes) -> Frame: ...

    @abstractmethod
    def _token(self, data: bytes) -> str:
        """By which request's token an answer is known."""


class Kafka(Dialect):
    """Length, then: key, version, correlation id, client id. Answers begin with the correlation id."""

    @staticmethod
    def _length(buffer: bytes) -> int | None:
        if len(buffer) < 4:
            return None
        size = 4 + int(struct.unpack_from(">i", buffer)[0])
        return size if len(buffer) >= size else None

    def _request(self, data: bytes) -> Frame:
        if len(data) < 14:
            return Frame(data, "")
        key, _, correlation, name_bytes = struct.unpack_from(">hhih", data, 4)
        if name_bytes > 0:
            self.owner = data[14 : 14 + name_bytes].decode(errors="replace")
        return Frame(data, KAFKA_REQUESTS.get(key, ""), str(correlation))

    def _token(self, data: bytes) -> str:
        return str(struct.unpack_from(">i", data, 4)[0])


class Nats(Dialect):
    """Lines; PUB, HPUB, MSG and HMSG are followed by as many bytes as their last word says, and a line end."""

    def __init__(self) -> None:
        super().__init__()
        self._subscribed: dict[str, str] = {}  # number of the subscription → subject
        self._pulled: dict[str, str] = {}  # number of the subscription → token of the request whose answer is lost

    @staticmethod
    def _length(buffer: bytes) -> int | None:
        end = buffer.find(b"\r\n")
        if end < 0:
            return None
        words = buffer[:end].split()
        size = end + 2
        if words and words[0].upper() in (b"PUB", b"HPUB", b"MSG", b"HMSG"):
            size += int(words[-1]) + 2
        return size if len(buffer) >= size else None

    def _request(self, data: bytes) -> Frame:
        words = data[: data.find(b"\r\n")].decode(errors="replace").split()
        verb = words[0].upper() if words else ""
        if verb == "CONNECT":
            self.owner = str(json.loads(data[len("CONNECT") :]).get("name", ""))
        if verb == "SUB":
            self._subscribed[words[-1]] = words[1]
        if verb not in ("PUB", "HPUB"):
            return Frame(data, "")
        payload_words = 1 if verb == "PUB" else 2  # sizes: HPUB names its headers' too
        reply = words[2] if len(words) == 3 + payload_words else ""
        if words[1].startswith("$JS.API.CONSUMER.CREATE."):
            return self._subscribing(data)
        return Frame(data, self._kind(words[1], reply), reply)

    @staticmethod
    def _subscribing(data: bytes) -> Frame:
        """Where a push consumer is made, what comes of it is what is pushed."""
        body = data[data.find(b"\r\n") + 2 :]
        try:
            subject = json.loads(body[body.find(b"{") :])["config"].get("deliver_subject", "")
        except (ValueError, KeyError):  # the server will say so
            subject = ""
        return Frame(data, "pull" if subject else "", subject)

    @staticmethod
    def _kind(subject: str, reply: str) -> str:
        if subject.startswith("$JS.ACK."):
            return "ack"
        if subject.startswith("$JS.API.CONSUMER.MSG.NEXT."):
            return "pull"
        return "publish" if reply and not subject.startswith("$JS.") else ""

    def lose_answer(self, frame: Frame) -> None:
        """Messages of a stream come under their own subject: by the number of the subscription it is known whose."""
        super().lose_answer(frame)
        if frame.kind == "pull":
            subjects = (frame.token, f"{frame.token.rpartition('.')[0]}.*")
            self._pulled = {number: frame.token for number, subject in self._subscribed.items() if subject in subjects}

    def _token(self, data: bytes) -> str:
        line, _, rest = data.partition(b"\r\n")
        words = line.decode(errors="replace").split()
        if not words or words[0].upper() not in ("MSG", "HMSG") or rest.startswith(b"NATS/1.0 100"):
            return ""  # a heartbeat or a mark of flow control answers nothing
        of_stream = len(words) > 4 and words[3].startswith("$JS.ACK.")
        return self._pulled.get(words[2], "") if of_stream else words[1]


def dialect_of(kind: str) -> Dialect:
    return Nats() if kind == "nats" else Kafka()
