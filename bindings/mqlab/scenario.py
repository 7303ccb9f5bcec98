"""A scenario: what a user wrote, checked and completed. Values are immutable; a change makes a new one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import tomli_w

from mqlab import _core
from mqlab.errors import ScenarioError
from mqlab.input_text import read_text

MAX_BYTES = _core.SCENARIO_BYTES  # larger files are refused unread
Override = tuple[str, str]  # PATH, VALUE as TOML text


class Scenario:
    """A checked scenario. Made by `mqlab.load`; equal when their complete TOML is equal."""

    def __init__(self, text: str, file: str, overrides: Sequence[Override] = ()) -> None:
        self._text, self._file, self._overrides = text, file, tuple(overrides)
        self.core = _core.read_scenario(text, file, self._overrides)

    @property
    def file(self) -> str:
        """The name used in messages: the path it was loaded from, or "<dict>"."""
        return self._file

    @property
    def name(self) -> str:
        return self.core.name

    @property
    def question(self) -> str:
        return self.core.question

    def with_(self, changes: Mapping[str, object]) -> Scenario:
        """A copy with settings changed: `{"stages.embed.instances": 3}`.

        Lists go by name; a property map swallows the rest of a path. Values are what TOML can say: bool, int,
        float, str, list, dict. Raises ScenarioError for a path or value that does not fit.
        """
        more = tuple((path, toml_value(value)) for path, value in changes.items())
        return Scenario(self._text, self._file, self._overrides + more)

    def with_text(self, overrides: Sequence[Override]) -> Scenario:
        """As `with_`, with values as TOML text; bare words are strings."""
        return Scenario(self._text, self._file, self._overrides + tuple(overrides))

    def to_toml(self) -> str:
        """The complete scenario, defaults filled in."""
        return self.core.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """The complete scenario as nested dicts and lists."""
        return tomllib.loads(self.to_toml())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __repr__(self) -> str:
        return f"<mqlab.Scenario {self.name!r} from {self.file}>"

    def __reduce__(self) -> tuple[type[Scenario], tuple[str, str, tuple[Override, ...]]]:
        return Scenario, (self._text, self._file, self._overrides)


def load(
    source: str | PathLike[str] | Mapping[str, Any],
    *,
    driver: str | PathLike[str] | None = None,
    duration: str | None = None,
) -> Scenario:
    """Reads a scenario from a TOML file, or from a dict of the same shape.

    A workload file of OpenMessaging Benchmark (`.yaml`) makes a scenario together with its `driver` file; `duration`
    ("10s") then stands in for its testDurationMinutes. Raises ScenarioError, which names file, line and key, for
    anything that is not a valid scenario.
    """
    if isinstance(source, Mapping):
        return Scenario(_dict_as_toml(source), "<dict>")
    path = Path(source)
    file = str(source)
    if path.suffix in (".yaml", ".yml"):
        if driver is None:
            raise ScenarioError(file, 0, "", "is a workload of OpenMessaging Benchmark: its driver file is needed too")
        from mqlab.omb.scenario import omb_scenario  # it needs this module

        return omb_scenario(file, str(driver), duration)
    if driver is not None or duration is not None:
        raise ScenarioError(file, 0, "", "takes no driver or duration: they go with a workload in YAML")
    return _with_omb(read_text(file, MAX_BYTES, "a scenario"), file)


# `omb = "FILE"` among a workload's keys, on a line of its own.
_OMB = re.compile(r"""^[ \t]*omb[ \t]*=[ \t]*["'](?P<file>[^"'\n]+)["'][ \t]*(?:#.*)?$""", re.MULTILINE)


def _with_omb(text: str, file: str) -> Scenario:
    """A scenario whose workload may name a file of OpenMessaging Benchmark; its keys stand in its place."""
    found = _OMB.search(text)
    if found is None:
        return Scenario(text, file)
    from mqlab.omb.workload import read_workload

    if _OMB.search(text, found.end()) is not None:
        raise ScenarioError(
            file, text.count("\n", 0, found.start()) + 1, "workload.omb", "one workload may name a file"
        )
    named = read_workload(str(Path(file).parent / found["file"]))
    for twice in {key for key, _ in named.settings()} & _keys_of_workload(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ScenarioError(file, line, "workload.omb", f"{found['file']} says it already: leave out {twice}")
    # The line goes, its number stays: messages about the others keep theirs.
    rest = text[: found.start()] + text[found.end() :]
    return Scenario(rest, file, [(f"workload.{key}", value) for key, value in named.settings()])


def _keys_of_workload(text: str) -> set[str]:
    try:
        workload = tomllib.loads(text).get("workload")
    except tomllib.TOMLDecodeError:
        return set()  # the reader says what is wrong with it
    return set(workload) if isinstance(workload, dict) else set()


def _dict_as_toml(source: Mapping[str, Any]) -> str:
    try:
        return tomli_w.dumps(source)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScenarioError("<dict>", 0, "", f"cannot be written as TOML: {error}") from None


def toml_value(value: object) -> str:
    """One value on one line, as TOML writes it."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{toml_value(str(key))} = {toml_value(item)}" for key, item in value.items())
        return "{ " + inside + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if hasattr(value, "item"):  # numpy's scalars
        value = value.item()
    try:
        return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")
    except TypeError:
        raise ScenarioError("<value>", 0, "", f"{value!r} is not a value TOML can hold") from None
