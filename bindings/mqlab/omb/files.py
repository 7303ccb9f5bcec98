"""YAML files of a flat table, with the line of every key for messages."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import yaml

from mqlab.errors import ScenarioError
from mqlab.input_text import read_text

_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Entry:
    """A key's value, and where it stands."""

    value: Any
    line: int  # of the key
    value_line: int  # of the value's first line; of a block (`|`) the line above its text


class Table:
    """The keys of one file."""

    def __init__(self, file: str, entries: dict[str, Entry]) -> None:
        self.file, self.entries = file, entries

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def wrong(self, key: str, problem: str) -> ScenarioError:
        line = self.entries[key].line if key in self.entries else 0
        return ScenarioError(self.file, line, key, problem)

    def text(self, key: str, default: str = "") -> str:
        value = self._get(key, default)
        if isinstance(value, (dict, list)):
            raise self.wrong(key, "must be a word or a text")
        return str(value)

    def whole(self, key: str, default: int | None = None, least: int = 0) -> int:
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(key, f"{value!r} must be a whole number from {least} on")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
            raise self.wrong(key, f"{value!r} must be a number more than 0")
        return float(value)

    def _get(self, key: str, default: Any) -> Any:
        entry = self.entries.get(key)
        if entry is not None and entry.value is not None:
            return entry.value
        if default is None:
            raise ScenarioError(self.file, 0, key, "is missing")
        return default


def read_table(file: str, known: Collection[str], what: str) -> Table:
    """Raises ScenarioError naming file, line and key for anything that is no such file."""
    text = read_text(file, _MAX_BYTES, f"a {what}")
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise ScenarioError(file, 0, "", f"is no {what}: a table of keys is expected")
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in entries:
                raise ScenarioError(file, line, key, "is given twice")
            if key not in known:
                raise ScenarioError(file, line, key, f"is no key of a {what}{nearest(key, known)}")
            value = loader.construct_object(value_node, deep=True)
            entries[key] = Entry(value, line, value_node.start_mark.line + 1)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "not YAML"
        raise ScenarioError(file, mark.line + 1 if mark else 0, "", f"is not YAML: {problem}") from None
    except ValueError as error:  # a tagged scalar that is none: !!int x
        raise ScenarioError(file, 0, "", f"is not YAML: {error}") from None
    except RecursionError:
        raise ScenarioError(file, 0, "", "is nested too deeply") from None
    return Table(file, entries)


def nearest(key: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(key, list(known), 1)
    return f"; nearest: {close[0]}" if close else ""
