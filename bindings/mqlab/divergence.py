"""Where a live run leaves its story: the first step that does not happen, and what happens in its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mqlab import _core
from mqlab.diagram import label

if TYPE_CHECKING:
    from mqlab.history import History
    from mqlab.runs import Run

# What both worlds write at the same points; times, positions and operation numbers differ.
_STEPS = {
    "publish": ("invoke", "ok"), "deliver": ("ok",), "handle": ("ok",), "complete": ("ok", "fail", "unknown"),
    "commit": ("ok",), "ack": ("ok",), "commit_transaction": ("invoke", "ok"), "abort_transaction": ("ok",),
    "fault": ("ok",), "audit": ("ok",),
}  # fmt: skip
_ABOUT_MANY = ("commit", "ack", "commit_transaction", "abort_transaction", "fault")  # they name no message
Key = tuple[str, str, int]  # kind, phase, message


@dataclass(frozen=True)
class Divergence:
    """`step` of `steps`, as the story counts what both worlds write."""

    step: int
    steps: int
    expected: str  # "worker-0 publishes m30"
    instead: str  # what that process does live after the last step in common; empty: nothing
    reason: str

    def __str__(self) -> str:
        instead = f"; instead {self.instead}" if self.instead else ""
        return f"step {self.step} of {self.steps} ({self.expected}) does not happen live{instead}: {self.reason}"


def divergence(story: History, run: Run) -> Divergence | None:
    """None where every step of the story happens in the live run, in the order of each process."""
    messages = {int(message) for message in story.rows["message"]} - {0}
    wanted = list(_steps(story, messages))
    live = run.record
    had: dict[int, list[tuple[Key, int]]] = {}
    for index, process, key in _steps(live, messages):
        had.setdefault(process, []).append((key, index))
    at: dict[int, int] = {}  # process → how far its live steps have been used up
    for number, (index, process, key) in enumerate(wanted, 1):
        own = had.get(process, [])
        start = at.get(process, 0)
        found = next((i for i in range(start, len(own)) if own[i][0] == key), None)
        if found is None:
            instead = _told(live, own[start][1]) if start < len(own) else ""
            return Divergence(number, len(wanted), _told(story, index), instead, _reason(run, instead))
        at[process] = found + 1
    return None


def _steps(history: History, messages: set[int]) -> Iterator[tuple[int, int, Key]]:
    """Row, process and key of each step."""
    processes = len(history.processes)
    for index, row in enumerate(history.rows):
        kind, phase = _core.KINDS[row["kind"]], _core.PHASES[row["phase"]]
        if phase not in _STEPS.get(kind, ()) or row["process"] >= processes:
            continue
        message = 0 if kind in _ABOUT_MANY else int(row["message"])
        if message in messages or kind in _ABOUT_MANY:
            yield index, int(row["process"]), (kind, phase, message)


def _told(history: History, index: int) -> str:
    row: Any = history.rows[index]
    return f"{history.processes[int(row['process'])]} {label(history, row)}".strip()


def _reason(run: Run, instead: str) -> str:
    if not run.faults_reached:
        return "the step at which the fault strikes was not reached"
    doubt = next((v.explanation for v in run.verdicts if v.verdict == "undecided"), "")
    if doubt:
        return doubt
    return "the process went another way" if instead else "the process did nothing more"
