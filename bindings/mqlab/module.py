"""Modules written in Python: the application's side of a pipeline, run unchanged in both worlds.

A scenario names one as `module = "FILE.py:Class"`, FILE relative to the scenario. The class subclasses `Module`.
It does no I/O, asks no clock and draws no chance of its own: events come in, effects go out.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from mqlab._core import Effects


class Now(NamedTuple):
    """Nanoseconds. `mono` only rises and counts from the run's beginning; `wall` may jump."""

    mono: int
    wall: int


class Message(NamedTuple):
    """What is sent or was read. A stage keeps `id` and `digest` of its input and names it as `cause`."""

    id: int
    key: int = 0
    size: int = 0  # declared bytes; 0: no value, as Kafka's tombstones
    digest: int = 0
    cause: int = 0  # 0: made by a workload
    payload: bytes = b""
    place: int = 0xFFFF_FFFF  # a number that stands for a partition or stream
    position: int = -1  # offset or stream sequence
    attempt: int = 1  # delivery attempt as the broker counts it
    timestamp: int = 0  # wall time, nanoseconds
    receipt: int = 0  # what ack and its kin name

    def output(self) -> Message:
        """The message a stage makes of this one: same id, key, size and digest."""
        return Message(self.id, self.key, self.size, self.digest, cause=self.id, payload=self.payload)


class Settlement(NamedTuple):
    """The end of one effect, named by its `op`."""

    op: int
    of: str  # "publish", "commit", …
    outcome: str  # ok | fail | unknown
    error: str  # none | retriable | abortable | fenced | fatal | full
    duplicate: bool
    code: int
    message: int
    place: int
    position: int
    value: bytes


class Event(NamedTuple):
    """What happened. `kind`: start, stop, invoke, delivered, settled, assigned, revoking, blocked, unblocked, up,
    down or tick."""

    kind: str
    op: int
    generation: int
    lost: bool
    at: int  # invoke: the intended time, nanoseconds
    messages: tuple[Message, ...]  # invoke, delivered
    settlements: tuple[Settlement, ...]  # settled
    places: tuple[tuple[int, int], ...]  # assigned, revoking: (place, position)


@dataclass(frozen=True)
class Context:
    """What a fresh incarnation is told. `random` seeds its own draws: `random.Random(context.random)`."""

    process: int
    instance: int
    incarnation: int
    random: int
    settings: Mapping[str, str]
    capabilities: frozenset[str]
    """What the broker can do: log (commit, seek), queue (ack), negative_ack, in_progress, terminate, groups,
    transactions, deduplicates, store, services."""


class Module:
    """Subclass this. State lives in the object; a new incarnation gets a new object."""

    uses: ClassVar[tuple[str, ...]] = ("fetch",)
    """The effects it cannot do without ("commit", "ack", …): checked against the broker when a run is set up."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def handle(self, now: Now, event: Event, effects: Effects) -> None:
        """What happened → what to do. `effects` belongs to this call."""

    def deadline(self) -> int | None:
        """When to be woken with a tick if nothing happens before, on `now.mono`; None for never."""
        return None


def find(name: str, scenario_file: str) -> type[Module]:
    """The class that "FILE.py:Class" names. Raises ValueError, saying what is wrong."""
    file, _, class_name = name.partition(":")
    base = Path() if scenario_file.startswith("<") else Path(scenario_file).parent
    path = (base / file).resolve()
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    found = getattr(_load(path, path.stat().st_mtime_ns), class_name, None)
    if not (isinstance(found, type) and issubclass(found, Module)):
        raise ValueError(f"{file} has no subclass of mqlab.Module named {class_name!r}")
    return found


@functools.lru_cache(maxsize=64)
def _load(path: Path, _changed: int) -> object:
    spec = importlib.util.spec_from_file_location(f"mqlab_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickling look their module up
    spec.loader.exec_module(module)
    return module


def describe_failure(error: BaseException) -> str:
    """One line: what was raised, and where in the user's file. A ValueError of `find` speaks for itself."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    if not last or last[0].filename == __file__:
        return str(error)
    return f"{type(error).__name__}: {error} ({last[0].filename}:{last[0].lineno})"
