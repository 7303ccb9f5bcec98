"""The lab's own requests for quotas: bytes as Kafka's protocol has them, and what is made of the answers."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from mqlab.live.controller import cluster_spec
from mqlab.live.kafka_quotas import NotSet, altering, describing, problem_in, quotas_in
from mqlab.live.surroundings import CannotRunLive

QUOTAS = {"worker-0": {"producer_byte_rate": 20_000, "consumer_byte_rate": 5}}


def test_altering_is_one_entry_a_client() -> None:
    """Against the fields of AlterClientQuotasRequest.json, written out."""
    entity = b"\0\0\0\1" + b"\0\x09client-id" + b"\0\x08worker-0"
    rate = struct.pack(">d", 20_000.0)
    ops = b"\0\0\0\2" + b"\0\x12producer_byte_rate" + rate + b"\0" + b"\0\x12consumer_byte_rate"
    assert altering(QUOTAS) == b"\0\0\0\1" + entity + ops + struct.pack(">d", 5.0) + b"\0" + b"\0"


def test_describing_asks_for_clients_that_are_named_and_nothing_else() -> None:
    assert describing() == b"\0\0\0\1" + b"\0\x09client-id" + b"\2" + b"\xff\xff" + b"\1"


def altered(code: int, message: bytes) -> bytes:
    told = b"\xff\xff" if not message else struct.pack(">h", len(message)) + message
    return b"\0\0\0\0\0\0\0\1" + struct.pack(">h", code) + told + b"\0\0\0\1\0\x09client-id\0\x08worker-0"


def test_a_refusal_is_told_with_its_client() -> None:
    assert problem_in(altered(0, b"")) == ""
    assert problem_in(altered(42, b"no such key")) == "error 42 no such key client-id worker-0"


def test_what_a_node_knows_is_read_by_client() -> None:
    value = b"\0\x12producer_byte_rate" + struct.pack(">d", 20_000.0)
    entry = b"\0\0\0\1\0\x09client-id\0\x08worker-0" + b"\0\0\0\1" + value
    answer = b"\0\0\0\0" + b"\0\0" + b"\xff\xff" + b"\0\0\0\1" + entry
    assert quotas_in(answer) == {"worker-0": {"producer_byte_rate": 20_000}}
    with pytest.raises(NotSet, match="error 7 later"):
        quotas_in(b"\0\0\0\0" + b"\0\x07" + b"\0\x05later" + b"\0\0\0\0")


def test_a_cluster_of_ones_own_keeps_its_quotas() -> None:
    broker = {"kind": "kafka", "version": "4.1", "nodes": 1, "properties": {}, "name": "kafka", "quotas": QUOTAS}
    described: dict[str, Any] = {"brokers": [broker], "faults": [], "processes": [], "address": ""}
    assert cluster_spec(described).kind == "kafka"
    with pytest.raises(CannotRunLive, match="quotas"):
        cluster_spec({**described, "address": "broker:9092"})
