"""Where output goes: people's tables and JSON documents to stdout, progress and complaints to stderr."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    out: Console
    err: Console

_WIDTH_WHEN_PIPED = 100


def _width() -> int | None:
    return None if sys.stdout.isatty() or os.environ.get("COLUMNS") else _WIDTH_WHEN_PIPED


def __getattr__(name: str) -> Console:
    """`out` and `err`, made when something is first printed: rich takes its time to load."""
    if name not in ("out", "err"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rich.console import Console

    console = Console(stderr=name == "err", width=_width(), highlight=False, soft_wrap=False)
    globals()[name] = console
    return console


def _console(name: str) -> Console:
    console: Console = getattr(sys.modules[__name__], name)
    return console


def print_json(document: object) -> None:
    """The one document of a --json call."""
    sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """A line for the person who waits; never part of the output."""
    _console("err").print(text, style="dim", markup=False)


@contextmanager
def progress(title: str, total: int | None) -> Iterator[Progress]:
    """A progress bar on stderr where that is a terminal; nothing elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=28), MofNCompleteColumn(),
        TextColumn("{task.fields[more]}"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=_console("err"), transient=True, disable=not _console("err").is_terminal) as bar:
        bar.add_task(title, total=total, more="")
        yield bar


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration(seconds: float) -> str:
    """With the unit that reads best: 830 µs, 9.1 ms, 2.4 s."""
    if math.isnan(seconds):
        return "–"
    if math.isinf(seconds):
        return "never"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}" if abs(seconds) < 1000 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def count(number: float) -> str:
    """30.6 M, 612,400, 17."""
    for unit, size in (("G", 1e9), ("M", 1e6)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,.0f}"
