"""The proxy's reading of wire protocols: whatever way the bytes come in, the same frames come out."""

from __future__ import annotations

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqlab.live.frames import KAFKA_REQUESTS, Kafka, Nats, dialect_of


def kafka_request(key: int, correlation: int, name: str, body: bytes = b"body") -> bytes:
    head = struct.pack(">hhih", key, 7, correlation, len(name)) + name.encode()
    return struct.pack(">i", len(head + body)) + head + body


def kafka_answer(correlation: int, body: bytes = b"answer") -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation) + body


NATS_UP = [
    b'CONNECT {"verbose":false,"name":"embed-0"}\r\n',
    b"PING\r\n",
    b"SUB _INBOX.a.* 1\r\n",
    b"PUB requests.1 _INBOX.a.7 5\r\nhello\r\n",
    b"HPUB requests.1 _INBOX.a.8 12 17\r\nNATS/1.0\r\n\r\nhello\r\n",
    b"PUB $JS.API.CONSUMER.MSG.NEXT.requests.embed _INBOX.a.9 0\r\n\r\n",
    b"PUB $JS.ACK.requests.embed.1.1.1.5.0 4\r\n+ACK\r\n",
    b"PUB plain 2\r\nhi\r\n",
    b'PUB $JS.API.CONSUMER.CREATE.requests _INBOX.a.1 48\r\n{"config":{"deliver_subject":"_INBOX.pushed.1"}}\r\n',
    b'PUB $JS.API.CONSUMER.CREATE.requests.c _INBOX.a.2 32\r\n{"config":{"durable_name":"c"}} \r\n',
]
NATS_KINDS = ["", "", "", "publish", "publish", "pull", "ack", "", "pull", ""]


def pieces(whole: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(whole), *(cut % (len(whole) + 1) for cut in cuts)})
    return [whole[a:b] for a, b in itertools.pairwise(places)]


@given(st.lists(st.integers(0, 10_000), max_size=30))
def test_kafka_requests_are_told_apart_however_they_are_cut(cuts: list[int]) -> None:
    sent = [kafka_request(key, 100 + n, "embed-0") for n, key in enumerate(KAFKA_REQUESTS)]
    kafka = Kafka()
    frames = [frame for piece in pieces(b"".join(sent), cuts) for frame in kafka.requests(piece)]
    assert [frame.data for frame in frames] == sent
    assert [frame.kind for frame in frames] == list(KAFKA_REQUESTS.values())
    assert kafka.owner == "embed-0"


@given(st.lists(st.integers(0, 10_000), max_size=30))
def test_nats_requests_are_told_apart_however_they_are_cut(cuts: list[int]) -> None:
    nats = Nats()
    frames = [frame for piece in pieces(b"".join(NATS_UP), cuts) for frame in nats.requests(piece)]
    assert [frame.data for frame in frames] == NATS_UP
    assert [frame.kind for frame in frames] == NATS_KINDS
    assert nats.owner == "embed-0"


@given(st.lists(st.integers(0, 10_000), max_size=10), st.integers(0, 4))
def test_one_kafka_answer_is_lost_and_the_others_pass(cuts: list[int], lost: int) -> None:
    kafka = Kafka()
    (frame,) = kafka.requests(kafka_request(26, lost, "embed-0"))
    kafka.lose_answer(frame)
    answers = [kafka_answer(n) for n in range(5)]
    passed = [answer for piece in pieces(b"".join(answers), cuts) for answer in kafka.answers(piece)]
    assert passed == [answer for n, answer in enumerate(answers) if n != lost]


def test_one_nats_answer_is_lost_and_the_next_to_the_same_inbox_passes() -> None:
    nats = Nats()
    frame = next(iter(nats.requests(NATS_UP[3])))
    nats.lose_answer(frame)
    answer, other = b"MSG _INBOX.a.7 1 2\r\n{}\r\n", b"HMSG _INBOX.a.8 1 12 14\r\nNATS/1.0\r\n\r\n{}\r\n"
    assert list(nats.answers(answer + other + answer)) == [other, answer]


@pytest.mark.parametrize(
    ("subscribed", "request_line"),
    [
        (b"SUB _INBOX.pushed.1  7\r\n", NATS_UP[8]),
        (b"SUB _INBOX.a.* 7\r\n", NATS_UP[5]),
    ],
)
def test_what_is_lost_of_a_pull_is_its_first_message(subscribed: bytes, request_line: bytes) -> None:
    nats = Nats()
    *_, frame = nats.requests(b"SUB other 6\r\n" + subscribed + request_line)
    assert frame.kind == "pull"
    nats.lose_answer(frame)
    made = b"MSG _INBOX.b.1 2 2\r\n{}\r\n"
    heartbeat = b"HMSG _INBOX.pushed.1 7 20 20\r\nNATS/1.0 100 Idl\r\n\r\n\r\n"
    other = b"MSG requests.1 6 $JS.ACK.requests.c.1.1.1.5.0 2\r\nhi\r\n"
    pulled = b"MSG requests.1 7 $JS.ACK.requests.d.1.1.1.5.0 2\r\nhi\r\n"
    assert list(nats.answers(made + heartbeat + other + pulled + pulled)) == [made, heartbeat, other, pulled]


@pytest.mark.parametrize(("kind", "expected"), [("kafka", Kafka), ("nats", Nats)])
def test_a_dialect_for_each_broker(kind: str, expected: type) -> None:
    assert isinstance(dialect_of(kind), expected)
