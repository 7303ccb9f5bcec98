"""Published operation histories, each with the anomalies that a correct checker reports: these, and nothing else.

The vectors re-express the tests of Jepsen's Kafka workload (jepsen-io/jepsen, jepsen/test/jepsen/tests/kafka_test.clj,
EPL-1.0). They stand beside the repository, or where MQLAB_SHARED says; `unseen`, which is a measure and no claim here,
is left out.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import mqlab
import pytest
from support import ROOT

_FILE = Path(os.environ.get("MQLAB_SHARED", ROOT.parent / "shared")) / "cases" / "kafka_history_vectors.json"
VECTORS: list[dict[str, Any]] = json.loads(_FILE.read_text())["cases"] if _FILE.exists() else []
CLAIM_OF = {
    "inconsistent-offsets": "log.offsets_consistent",
    "poll-skip": "log.no_poll_skip",
    "int-poll-skip": "log.no_poll_skip",
    "nonmonotonic-poll": "log.monotonic_poll",
    "int-nonmonotonic-poll": "log.monotonic_poll",
    "nonmonotonic-send": "log.monotonic_send",
    "int-nonmonotonic-send": "log.monotonic_send",
    "int-send-skip": "log.no_send_skip",
    "duplicate": "log.no_duplicates",
    "lost-write": "log.no_lost_write",
    "G1a": "log.no_aborted_read",
    "precommitted-read": "log.no_precommitted_read",
    "G0": "log.no_write_cycle",
    "G1c": "log.no_information_cycle",
}
CYCLES = ("G0", "G1c")


def test_history_vectors_are_there() -> None:
    """Without its cases this file would pass for want of them."""
    assert len(VECTORS) == (39 if _FILE.parent.parent.exists() else 0)


def _check(vector: dict[str, Any], folder: Path) -> mqlab.Verdicts:
    path = folder / "vector.json"
    path.write_text(json.dumps({"ops": vector["ops"], "options": vector["options"]}))
    return mqlab.check(path)


def _found(verdicts: mqlab.Verdicts) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for verdict in verdicts:
        for anomaly in verdict.anomalies:
            assert CLAIM_OF[anomaly["anomaly"]] == verdict.claim
            found.setdefault(anomaly["anomaly"], []).append(_as_given(anomaly))
    return found


def _as_given(a: dict[str, Any]) -> dict[str, Any]:
    """An anomaly in the words of the vectors."""
    name, ops = a["anomaly"], a["operations"]
    if name == "inconsistent-offsets":
        return {"key": a["place"], "offset": a["positions"][0], "index": a["index"], "values": sorted(a["ids"])}
    if name == "duplicate":
        return {"key": a["place"], "value": a["ids"][0], "count": len(a["positions"]), "offsets": a["positions"]}
    if name == "lost-write":
        return {
            "key": a["place"], "value": a["ids"][0], "index": a["index"], "max-read-index": a["bound"],
            "writer": ops[0], "max-read": ops[1] if len(ops) > 1 else None,
        }  # fmt: skip
    if name == "G1a":
        return {"key": a["place"], "value": a["ids"][0], "writer": ops[0], "reader": ops[1]}
    if name == "precommitted-read":
        return {"op": ops[0], "key": a["place"], "value": a["ids"][0]}
    if name in CYCLES:
        return {"steps": [_step(s["type"], s["place"], s["ids"], s["operations"]) for s in a["steps"]]}
    given: dict[str, Any] = {"key": a["place"], "delta": a["delta"]}
    if name != "poll-skip":
        given["values"] = a["ids"]
    if "skipped" in a:
        given["skipped"] = a["skipped"]
    return given | ({"op": ops[1]} if name.startswith("int-") else {"ops": ops})


def _step(kind: str, key: object, ids: list[Any], operations: list[int]) -> tuple[Any, ...]:
    return (kind, str(key), tuple(ids), *operations)


def _cycle(given: dict[str, Any]) -> dict[str, Any]:
    """A cycle as given, a step each with the operations it leads from and to."""
    ops = given["cycle"]
    steps = [
        _step(s["type"], s["key"], [s["value"], *([s["value2"]] if "value2" in s else [])], [ops[i], ops[i + 1]])
        for i, s in enumerate(given["steps"])
    ]
    return {"steps": steps}


def _sorted(anomalies: dict[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
    """Neither the order of a list nor where a cycle begins means anything."""
    for name in CYCLES:
        for anomaly in anomalies.get(name, []):
            anomaly["steps"] = sorted(anomaly["steps"])
    return {name: sorted(json.dumps(a, sort_keys=True) for a in found) for name, found in anomalies.items()}


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_history_vectors_show_each_anomaly_as_given_and_nothing_else(vector: dict[str, Any], tmp_path: Path) -> None:
    expected = {name: list(a) for name, a in vector["full_verdict"]["noncycle"].items() if name != "unseen"}
    for name in CYCLES:
        if name in vector["asserted"]["present"]:
            expected[name] = [_cycle(given) for given in vector["asserted"]["present"][name]]
    found = _found(_check(vector, tmp_path))
    assert _sorted(found) == _sorted(expected)
    for name in vector["asserted"]["absent"]:
        assert name not in found


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_history_vectors_end_with_the_exit_code_of_their_verdict(vector: dict[str, Any], tmp_path: Path) -> None:
    """Only what no broker promises is free; and nothing holds of a history without a last reading."""
    gating = set(_found(_check(vector, tmp_path))) - {"int-send-skip", *CYCLES}
    assert _check(vector, tmp_path).exit_code == (1 if gating else 3)
