"""A counterexample as a picture: a lane per process, time downwards, an arrow from each publish to its delivery.

The steps are drawn at equal distances, each with its time beside it: what matters is the order. Plain SVG text,
readable at 1000 pixels, without scripts or fonts of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from mqlab import _core
from mqlab.history import FLAG, KIND, PHASE, History, Rows

WIDTH = 1000
_LEFT, _TOP, _STEP, _BOTTOM = 96, 92, 30, 40
_MOST_STEPS = 80
_INK, _FAINT, _MESSAGE, _BAD, _FAULT = "#1f2933", "#9aa5b1", "#2563eb", "#c81e1e", "#b45309"
# What is drawn of each kind, and in which phases; a commit's or ack's start says less than its end.
_DRAWN = {
    "invoke": ("ok",), "publish": ("invoke", "ok", "fail", "unknown"), "deliver": ("ok",), "handle": ("ok",),
    "complete": ("ok", "fail", "unknown"), "commit": ("ok", "fail", "unknown"), "ack": ("ok", "fail", "unknown"),
    "nack": ("ok",), "commit_transaction": ("ok", "fail", "unknown"), "abort_transaction": ("ok",),
    "store_write": ("ok", "fail", "unknown"), "assigned": ("ok",), "revoking": ("ok",), "start": ("ok",),
    "stop": ("fail",), "fault": ("ok",), "heal": ("ok",), "audit": ("ok",), "elect": ("ok",),
}  # fmt: skip
_LAST_WORD = {"fail": "failed", "unknown": "unknown"}


@dataclass(frozen=True)
class _Step:
    index: int  # of the row
    lane: int
    y: float
    text: str
    colour: str
    bad: bool


def space_time(history: History, witness: Sequence[int] = (), *, title: str = "", caption: str = "") -> str:
    """The SVG text of a history. `witness`: indices of the rows that prove a violation; they are marked."""
    chosen = _chosen(history, set(witness))
    lanes = _lanes(history, chosen)
    steps = _steps(history, chosen, lanes, set(witness))
    height = _TOP + _STEP * (len(steps) + 1) + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="13">',
        "<defs>" + _tip("tip", _MESSAGE) + _tip("bad-tip", _BAD) + "</defs>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        *_title(title),
        _text(16, height - 14, _fitted(caption, WIDTH - 32), colour=_FAINT),
        *_lane_lines(history, lanes, steps, chosen, height),
        *_arrows(history, steps),
        *(_mark(step, _x(step.lane, len(lanes)), len(lanes)) for step in steps),
        *_times(history, steps),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _chosen(history: History, witness: set[int]) -> list[int]:
    """Indices of the rows to draw: those of the messages that the witness is about, and what befell processes."""
    rows = history.rows
    messages = {int(rows["message"][i]) for i in witness} - {0}
    about = {int(m) for i in witness for m in (rows["message"][i], rows["cause"][i])} - {0} if messages else set()
    chosen = []
    for index, row in enumerate(rows):
        kind, phase = _kind(row), _phase(row)
        if phase not in _DRAWN.get(kind, ()) or row["flags"] & FLAG["header"]:
            continue
        if index in witness or _concerns(row, kind, about):
            chosen.append(index)
    if len(chosen) <= _MOST_STEPS:
        return chosen
    must = [i for i in chosen if i in witness or _kind(rows[i]) in ("fault", "heal")]
    rest = [i for i in chosen if i not in set(must)]
    return sorted(must + rest[: max(_MOST_STEPS - len(must), 0)])


def _concerns(row: np.void, kind: str, about: set[int]) -> bool:
    if kind in ("fault", "heal", "stop", "elect"):
        return True
    if kind == "start":
        return bool(row["incarnation"] > 0)
    if kind == "audit":
        return False  # drawn only where it is part of the proof
    return not about or row["message"] == 0 or int(row["message"]) in about


def _lanes(history: History, chosen: Sequence[int]) -> dict[int, int]:
    """Process number → lane, from left to right: where requests come from, the stages, who reads, the brokers."""
    order = {"workload": 0, "stage": 1, "observer": 2, "auditor": 3, "broker": 4, "lab": 5}
    present = {int(history.rows["process"][i]) for i in chosen}
    known = [p for p in present if p < len(history.topology.processes)]
    known.sort(key=lambda p: (order[history.topology.processes[p].role], p))
    return {process: lane for lane, process in enumerate(known)}


def _steps(history: History, chosen: Sequence[int], lanes: dict[int, int], witness: set[int]) -> list[_Step]:
    steps: list[_Step] = []
    for index in chosen:
        row = history.rows[index]
        if int(row["process"]) not in lanes:
            continue
        bad = index in witness
        fault = _kind(row) in ("fault", "heal", "stop", "start")
        colour = _BAD if bad else _FAULT if fault else _INK
        y = _TOP + _STEP * (len(steps) + 1)
        steps.append(_Step(index, lanes[int(row["process"])], y, label(history, row), colour, bad))
    return steps


def label(history: History, row: np.void) -> str:
    kind, phase = _kind(row), _phase(row)
    message = f"m{row['message']}" if row["message"] else ""
    place = history.places[int(row["place"])] if row["place"] < len(history.places) else ""
    where = f"{place}@{row['position']}" if place and row["position"] >= 0 else place
    after = f" {_LAST_WORD[phase]}" if phase in _LAST_WORD else ""
    match kind:
        case "fault":
            known = 0 <= row["aux"] < len(_core.ACTIONS)
            return "⚡ " + (_core.ACTIONS[int(row["aux"])].replace("_", " ") if known else "fault")
        case "heal":
            return "fault over"
        case "stop":
            return "dies"
        case "start":
            return f"starts again (incarnation {row['incarnation']})"
        case "invoke":
            return f"{message} requested"
        case "publish" if phase == "invoke":
            return f"{message} sent"
        case "publish" if phase == "ok":
            return f"{message} acked" + (f" {where}" if where else "")
        case "deliver":
            return f"{message} ← {where}"
        case "handle":
            return f"{message} handled"
        case "complete":
            return f"{message} done{after}"
        case "audit":
            return f"auditor finds {message} {where}"
        case "assigned" | "revoking":
            return f"{kind} {place}"
        case _:
            return f"{kind.replace('_', ' ')} {where or message}".strip() + after


def _title(title: str) -> list[str]:
    """On one line or two; what does not fit is cut."""
    if _width(title, 16, bold=True) <= WIDTH - 32:
        return [_text(16, 28, title, size=16, weight="bold")]
    first, rest = "", title.split(" ")
    while rest and _width(f"{first} {rest[0]}", 15, bold=True) <= WIDTH - 32:
        first = f"{first} {rest.pop(0)}".strip()
    second = _fitted(" ".join(rest), WIDTH - 32, 15, bold=True)
    return [_text(16, y, line, size=15, weight="bold") for y, line in ((22, first), (42, second))]


def _name(name: str, lane: int, lanes: int) -> str:
    """Above its lane, in the room that the lanes leave to each other."""
    room = (_x(1, lanes) - _x(0, lanes) if lanes > 1 else WIDTH - 2 * _LEFT) - 20
    x = _x(lane, lanes)
    room = min(room, 2 * (WIDTH - 6 - x), 2 * (x - 6))
    return _text(x, 64, _fitted(name, room, 14, bold=True), anchor="middle", weight="bold", size=14)


def _width(text: str, size: float = 13, *, bold: bool = False) -> float:
    """An upper estimate for the usual sans serif fonts, in pixels."""
    return len(text) * size * (0.66 if bold else 0.58)


def _fitted(text: str, room: float, size: float = 13, *, bold: bool = False) -> str:
    """The text, or its two ends with … between them where it is too long."""
    if _width(text, size, bold=bold) <= room:
        return text
    keep = max(int(room / (size * (0.66 if bold else 0.58))) - 1, 2)
    return text[: keep - keep // 3] + "…" + (text[-(keep // 3) :] if keep // 3 else "")


def _lane_lines(
    history: History, lanes: dict[int, int], steps: Sequence[_Step], chosen: Sequence[int], height: float
) -> list[str]:
    parts = []
    for process, lane in lanes.items():
        x = _x(lane, len(lanes))
        parts.append(_name(history.processes[process], lane, len(lanes)))
        parts.append(
            f'<line data-lane="{lane}" x1="{x:.0f}" y1="72" x2="{x:.0f}" y2="{height - _BOTTOM}" stroke="{_FAINT}"/>'
        )
        parts += _dead_stretches(history, lane, x, steps, height)
    return parts


def _dead_stretches(history: History, lane: int, x: float, steps: Sequence[_Step], height: float) -> list[str]:
    """A lane is broken while its process is dead."""
    parts, died = [], None
    for step in [s for s in steps if s.lane == lane]:
        kind = _kind(history.rows[step.index])
        if kind == "stop":
            died = step.y
        elif kind == "start" and died is not None:
            parts.append(_gap(x, died, step.y))
            died = None
    if died is not None:
        parts.append(_gap(x, died, height - _BOTTOM))
    return parts


def _gap(x: float, top: float, bottom: float) -> str:
    return (
        f'<line x1="{x:.0f}" y1="{top}" x2="{x:.0f}" y2="{bottom}" stroke="white" stroke-width="3"/>'
        f'<line x1="{x:.0f}" y1="{top}" x2="{x:.0f}" y2="{bottom}" stroke="{_FAULT}" stroke-dasharray="2 5"/>'
    )


def _arrows(history: History, steps: Sequence[_Step]) -> list[str]:
    """From the step that sent a record to each step that received it: same place and position."""
    rows = history.rows
    lanes = max((step.lane for step in steps), default=0) + 1
    sent: dict[tuple[int, int], _Step] = {}
    begun: dict[tuple[int, int, int], _Step] = {}
    parts = []
    for step in steps:
        row = rows[step.index]
        kind, phase = _kind(row), _phase(row)
        own = (int(row["process"]), int(row["incarnation"]), int(row["op"]))
        spot = (int(row["place"]), int(row["position"]))
        if kind == "publish" and phase == "invoke":
            begun[own] = step
        elif kind == "publish" and phase == "ok":
            sent.setdefault(spot, begun.get(own, step))
        elif kind == "deliver":
            origin = sent.get(spot) or _unacked(history, steps, row, step)
            if origin is not None:
                parts.append(_arrow(origin, step, lanes))
    return parts


def _unacked(history: History, steps: Sequence[_Step], row: np.void, before: _Step) -> _Step | None:
    """A record whose sender never saw the answer: the last publish of that message before."""
    for step in reversed([s for s in steps if s.y < before.y]):
        other = history.rows[step.index]
        if _kind(other) == "publish" and _phase(other) == "invoke" and other["message"] == row["message"]:
            return step
    return None


def _arrow(origin: _Step, target: _Step, lanes: int) -> str:
    x1, x2 = _x(origin.lane, lanes), _x(target.lane, lanes)
    inset = (11 if target.bad else 7) * (1 if x2 > x1 else -1)
    colour, tip = (_BAD, "bad-tip") if target.bad else (_MESSAGE, "tip")
    return (
        f'<line data-arrow="" x1="{x1:.0f}" y1="{origin.y}" x2="{x2 - inset:.0f}" y2="{target.y}" stroke="{colour}" '
        f'stroke-width="1.4" marker-end="url(#{tip})" opacity="0.75"/>'
    )


def _tip(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
    )


def _mark(step: _Step, x: float, lanes: int) -> str:
    radius = 6 if step.bad else 4
    ring = (
        f'<circle data-witness="" cx="{x:.0f}" cy="{step.y}" r="10" fill="none" stroke="{_BAD}"/>' if step.bad else ""
    )
    gap = 14 if step.bad else 12
    heavy = step.bad or step.colour == _FAULT
    left, right = x - gap - _LEFT, WIDTH - 8 - (x + gap)
    to_left = _width(step.text, bold=heavy) > right and left > right
    text = _fitted(step.text, left if to_left else right, bold=heavy)
    text_x, anchor = (x - gap, "end") if to_left else (x + gap, "start")
    fault = ' data-fault=""' if step.text.startswith("⚡") else ""
    dot = f'<circle{fault} cx="{x:.0f}" cy="{step.y}" r="{radius}" fill="{step.colour}"/>'
    weight = "bold" if heavy else "normal"
    return ring + dot + _text(text_x, step.y + 4, text, colour=step.colour, anchor=anchor, weight=weight)


def _times(history: History, steps: Sequence[_Step]) -> list[str]:
    parts, last = [], ""
    times = [int(history.rows["time"][step.index]) for step in steps]
    long = max(times, default=0) >= 10_000_000_000
    for step, time in zip(steps, times, strict=True):
        label = f"{time / 1e9:.4f} s" if long else f"{time / 1e6:,.2f} ms"
        if label != last:
            parts.append(_text(_LEFT - 20, step.y + 4, label, colour=_FAINT, anchor="end", size=11))
        last = label
    return parts


def _x(lane: int, lanes: int) -> float:
    span = WIDTH - _LEFT - 60
    return _LEFT + 20 + (span * lane / max(lanes - 1, 1) if lanes > 1 else 0)


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 13,
    weight: str = "normal",
    colour: str = _INK,
    anchor: str = "start",
) -> str:
    if not text:
        return ""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="{anchor}" paint-order="stroke" stroke="white" stroke-width="3">{escape(text)}</text>'
    )


def _kind(row: np.void | Rows) -> str:
    return _KINDS[int(row["kind"])]


def _phase(row: np.void | Rows) -> str:
    return _PHASES[int(row["phase"])]


_KINDS = {number: name for name, number in KIND.items()}
_PHASES = {number: name for name, number in PHASE.items()}
