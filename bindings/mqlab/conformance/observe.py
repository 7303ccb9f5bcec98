"""Rows of a run, picked by what they are: the ground on which expectations stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mqlab.history import FLAG, KIND, PHASE, Rows
from mqlab.runs import Run

_PLAIN = ("message", "key", "attempt", "code", "position", "incarnation", "size", "transaction", "aux")
KEYS = ("kind", "phase", "process", "place", "topic", "flag", "without", "nth", "from", *_PLAIN)


class Mistake(ValueError):  # noqa: N818  # the entry's author's
    """An expectation that cannot be understood."""


def pick(run: Run, wanted: Mapping[str, Any]) -> Rows:
    """The rows that are `wanted`.

    kind; phase, one or several, "ok" unless said; process, or its group; place or topic; any number of the row, one
    or several; flag, or without one; from: only those after the first of others; nth: that one, from 1, or the
    last, -1. `committed` is the kind of audited group offsets. Head rows of batches count only for fetches.
    """
    for key in wanted:
        if key not in KEYS:
            raise Mistake(f"{key}: there is no such part of a row; there is {', '.join(KEYS)}")
    rows = run.record.rows
    kind = wanted.get("kind", "")
    if kind != "committed" and kind not in KIND:
        raise Mistake(f"kind = {kind!r}: there is {', '.join(KIND)}, committed")
    mask = rows["kind"] == KIND["audit" if kind == "committed" else kind]
    phases = wanted.get("phase", "ok")
    mask &= np.isin(rows["phase"], [PHASE[name] for name in ([phases] if isinstance(phases, str) else phases)])
    if kind in ("audit", "committed"):
        mask &= rows["op"] == (1 if kind == "committed" else 0)
    if kind != "fetch":
        mask &= rows["flags"] & FLAG["header"] == 0
    for key in _PLAIN:
        if key in wanted:
            mask &= np.isin(rows[key], wanted[key])
    for key, sought in (("flag", True), ("without", False)):
        if key in wanted:
            mask &= (rows["flags"] & FLAG[wanted[key]] != 0) == sought
    mask &= _named(run, wanted)
    if "from" in wanted:
        first = pick(run, wanted["from"])
        mask &= rows["time"] >= (first["time"][0] if len(first) else np.iinfo(np.int64).max)
    found: Rows = rows[mask]
    if "nth" in wanted:
        at = wanted["nth"] - 1 if wanted["nth"] > 0 else wanted["nth"]
        found = found[at : at + 1 or None] if at >= 0 else found[at : len(found) + at + 1]
    return found


def _named(run: Run, wanted: Mapping[str, Any]) -> Any:
    rows, record = run.record.rows, run.record
    mask = np.ones(len(rows), dtype=bool)
    if "process" in wanted:
        numbers = [
            n for n, p in enumerate(record.topology.processes) if wanted["process"] in (p.name, p.group)
        ]  # fmt: skip
        if not numbers:
            raise Mistake(f"there is no process {wanted['process']}; there is {', '.join(record.processes)}")
        mask &= np.isin(rows["process"], numbers)
    for key in ("place", "topic"):
        if key in wanted:
            names = record.places if key == "place" else [place.split("/")[0] for place in record.places]
            numbers = [n for n, name in enumerate(names) if name == wanted[key]]
            if not numbers:
                raise Mistake(f"there is no {key} {wanted[key]}; there is {', '.join(record.places)}")
            mask &= np.isin(rows["place"], numbers)
    return mask


def column(run: Run, rows: Rows, name: str) -> list[Any]:
    """Values of one column, names where it has them."""
    if name == "process":
        return [run.record.processes[number] for number in rows["process"]]
    if name == "place":
        return [run.record.places[number] for number in rows["place"]]
    if name not in _PLAIN:
        raise Mistake(f"list = {name!r}: there is process, place, {', '.join(_PLAIN)}")
    return [int(value) for value in rows[name]]


_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1))


def nanoseconds(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m)", str(text))
    if found is None:
        raise Mistake(f"{text!r} is no duration such as 250ms or 30s")
    return round(float(found[1]) * dict((*_UNITS, ("m", 60_000_000_000)))[found[2]])


def in_words(ns: int) -> str:
    """In the largest unit that says it exactly to the microsecond."""
    for unit, size in _UNITS[:2]:
        if abs(ns) >= size:
            return f"{ns / size:.6g} {unit}" if ns % 1000 else f"{ns / size:.9g} {unit}"
    return f"{ns / 1000:.6g} us"
