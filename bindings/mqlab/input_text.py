"""Files that users wrote, or may have changed: read whole or refused in one line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from mqlab.errors import HistoryError, ScenarioError


def read_text(file: str, most_bytes: int, what: str) -> str:
    """Raises ScenarioError for what is larger, not UTF-8, or cannot be read; `what` it should be: "a scenario"."""
    path = Path(file)
    try:
        size = path.stat().st_size
        if size > most_bytes:
            raise ScenarioError(file, 0, "", f"is {size:,} bytes; {what} has at most {most_bytes:,}")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(file, 0, "", f"is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ScenarioError(file, 0, "", f"cannot be read: {error.strerror}") from None


@contextlib.contextmanager
def as_written(path: Path) -> Iterator[None]:
    """What a file does not hold, or holds otherwise than it was written, becomes a HistoryError."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise HistoryError(f"{path} is not as mqlab wrote it: {what}") from None
