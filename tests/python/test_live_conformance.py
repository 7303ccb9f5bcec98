"""A part of the suite on real brokers, within a budget of time: what a broker that is not harmed shows quickly."""

from __future__ import annotations

import time

from mqlab.conformance import runner
from mqlab.conformance.entry import Entry
from mqlab.conformance.suite import load_suite
from support import call

_BUDGET_SECONDS = 100.0


def quick(entry: Entry) -> bool:
    """By hand, or a run without faults on one node with the base's own properties of the broker."""
    if "live" in entry.cannot:
        return False
    if entry.java or entry.nats or entry.defaults:
        return True
    runs = entry.runs("live")
    harmless = all(not planned.faults and not planned.refused for planned in runs)
    return harmless and all("broker" not in path for planned in runs for path in planned.changes)


def outcomes(kind: str, count: int) -> list[runner.Outcome]:
    entries = [entry for entry in load_suite().of((kind,)) if quick(entry)]
    return runner.run(entries[:: max(1, len(entries) // count)], "live")


def test_real_nats_agrees() -> None:
    began = time.monotonic()
    found = outcomes("nats", 30)
    assert [(one.entry.fact, one.expected, one.observed) for one in found if one.result == runner.DIFFERS] == []
    assert sum(one.result == runner.AGREES for one in found) >= 25
    assert time.monotonic() - began < 2 * _BUDGET_SECONDS


def test_real_kafka_and_its_java_client_agree() -> None:
    found = outcomes("kafka", 12)
    assert [(one.entry.fact, one.expected, one.observed) for one in found if one.result == runner.DIFFERS] == []
    assert sum(one.result == runner.AGREES for one in found) >= 10


def test_an_address_where_nobody_is_ends_with_one_line() -> None:
    called = call("conformance", "nats", "--address", "nats://127.0.0.1:9", "--fact", "nats/duplicate-id")
    assert called.code == 4
    assert len([line for line in called.err.splitlines() if line.strip()]) == 1
