"""Files that users wrote, read whole or refused in one line."""

from __future__ import annotations

from pathlib import Path

from mqlab.errors import ScenarioError


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
