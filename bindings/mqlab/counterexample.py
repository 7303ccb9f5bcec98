"""A counterexample: the scenario with its faults spelled out, the few requests that matter, and the story.

The file is a scenario that users could have written themselves, followed by a table `[counterexample]` with what a
scenario does not say: the seed, which requests are made, which claim breaks.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqlab import _core
from mqlab.diagram import space_time
from mqlab.errors import ScenarioError
from mqlab.input_text import read_text
from mqlab.scenario import MAX_BYTES, Scenario, load, toml_value

if TYPE_CHECKING:
    from mqlab.history import History

_MARK = "\n[counterexample]\n"


class Picture(str):
    """SVG text that a notebook shows as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Counterexample:
    """A stored story. `messages`: the requests that are made, by id; None for all of the scenario's."""

    path: Path
    scenario: Scenario
    claim: str  # its scope
    seed: int
    messages: tuple[int, ...] | None
    zero_jitter: bool
    schedule: int | None  # the failing schedule it was shrunk from
    story: tuple[str, ...]
    order: int = 0  # key of the draws by which messages overtake each other; 0 for none
    overtakes: tuple[tuple[int, int], ...] = ()  # spelled out: (moment of choice, which message comes first)
    causes: tuple[str, ...] = ()  # 'stages.worker.commit = "auto" (enrich.toml:8); default would do'

    @property
    def picture(self) -> Path:
        """The space-time diagram beside the file."""
        return self.path.with_suffix(".svg")

    @property
    def needs_an_order(self) -> bool:
        """The claim breaks only where messages overtake each other: no real machine can be told to do that."""
        return bool(self.order or self.overtakes)

    @property
    def key(self) -> str:
        """What is run: equal for claims that the same run breaks."""
        run = (self.seed, self.messages, self.zero_jitter, self.order, self.overtakes)
        return repr((self.scenario.to_toml(), *run))

    def core_schedule(self) -> _core.Schedule:
        """What tells this run from others; the faults are in the scenario."""
        return _core.Schedule(self.seed, self.masked(), self.zero_jitter, self.order, self.overtakes)

    def masked(self) -> list[int]:
        """The requests that are not made."""
        if self.messages is None:
            return []
        return sorted(set(range(1, self.scenario.core.requests + 1)) - set(self.messages))

    def plot(self) -> Picture:
        """The space-time diagram, drawn anew from a simulated run of the story."""
        from mqlab import api

        run = api.replay(self)[0]
        verdict = run.verdicts[self.claim]
        return Picture(
            space_time(
                run.record,
                verdict.witness,
                title=f"{self.claim}: {verdict.explanation}",
                caption=self.command,
            )
        )

    @property
    def command(self) -> str:
        return f"mqlab replay {self.path}"

    def to_toml(self) -> str:
        lines = [f"# A counterexample to {self.claim}; run it again: {self.command}"]
        lines += [f"#  {number:>2} {step}" for number, step in enumerate(self.story, 1)]
        lines += [f"#  cause {cause}" for cause in self.causes]
        body = "\n".join(lines) + "\n\n" + self.scenario.to_toml().rstrip("\n") + "\n"
        about: dict[str, Any] = {"claim": self.claim, "seed": self.seed, "zero_jitter": self.zero_jitter}
        if self.order:
            about["order"] = str(self.order)  # 64 bits: more than a TOML integer holds
        if self.overtakes:
            about["overtakes"] = [list(pair) for pair in self.overtakes]
        if self.messages is not None:
            about["messages"] = list(self.messages)
        if self.schedule is not None:
            about["schedule"] = self.schedule
        about["story"] = list(self.story)
        if self.causes:
            about["causes"] = list(self.causes)
        return body + _MARK + "".join(f"{name} = {toml_value(value)}\n" for name, value in about.items())

    def write(self, history: History, witness: Sequence[int], explanation: str) -> None:
        """The file and its picture."""
        self.path.write_text(self.to_toml(), encoding="utf-8")
        title = f"{self.claim}: {explanation}"
        self.picture.write_text(space_time(history, witness, title=title, caption=self.command), encoding="utf-8")


def is_counterexample(path: Path) -> bool:
    try:
        return _MARK in path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def read_counterexample(path: str | Path) -> Counterexample:
    """Reads a stored story. Raises ScenarioError for anything that is none."""
    file = Path(path)
    if not is_counterexample(file):
        load(file)  # says so if it is not even a scenario
        raise ScenarioError(str(file), 0, "", "is a scenario, not a counterexample: it has no [counterexample] table")
    text, _, rest = read_text(str(file), MAX_BYTES, "a counterexample").partition(_MARK)
    scenario = Scenario(text + "\n", str(file))
    line = text.count("\n") + 2
    try:
        table = tomllib.loads(rest)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError(str(file), line, "counterexample", " ".join(str(error).split())) from None
    about = _Table(str(file), line, rest, table)
    requests = scenario.core.requests
    return Counterexample(
        path=file,
        scenario=scenario,
        claim=about.one("claim", "the scope of a claim that the scenario makes", _one_of(scenario)),
        seed=about.one("seed", "a whole number of 64 bits, from 0 on", _whole(2**64 - 1)),
        messages=about.some("messages", f"a list of requests' ids, 1 to {requests:,}", _whole(requests, 1)),
        zero_jitter=about.one("zero_jitter", "true or false", lambda value: isinstance(value, bool)),
        schedule=about.maybe("schedule", "a whole number from 0 on", _whole(2**63 - 1)),
        story=about.some("story", "a list of sentences", _is_text) or (),
        order=int(about.maybe("order", 'a 64 bit number in quotes, "7"', _is_order) or 0),
        overtakes=tuple((a, b) for a, b in about.some("overtakes", "a list of pairs [MOMENT, WHICH]", _is_pair) or ()),
        causes=about.some("causes", "a list of sentences", _is_text) or (),
    )


class _Table:
    """The table [counterexample] of a file, each value as it must be. Raises ScenarioError with its line."""

    def __init__(self, file: str, first_line: int, text: str, values: dict[str, Any]) -> None:
        self._file, self._first, self._text, self._values = file, first_line, text, values

    def maybe(self, key: str, should: str, right: Callable[[Any], bool]) -> Any:
        value = self._values.get(key)
        if value is not None and not right(value):
            raise self._wrong(key, f"must be {should}")
        return value

    def one(self, key: str, should: str, right: Callable[[Any], bool]) -> Any:
        if key not in self._values:
            raise ScenarioError(self._file, self._first, f"counterexample.{key}", f"is missing: {should}")
        return self.maybe(key, should, right)

    def some(self, key: str, should: str, right: Callable[[Any], bool]) -> tuple[Any, ...] | None:
        values = self.maybe(key, should, lambda value: isinstance(value, list) and all(map(right, value)))
        return None if values is None else tuple(values)

    def _wrong(self, key: str, problem: str) -> ScenarioError:
        found = re.search(rf"(?m)^\s*[\"']?{key}[\"']?\s*=", self._text)
        line = self._first + 1 + self._text[: found.end()].count("\n") if found else self._first
        return ScenarioError(self._file, line, f"counterexample.{key}", problem)


def _whole(most: int, least: int = 0) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_order(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9]{1,20}", value) is not None and int(value) < 2**64


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_whole(2**32 - 1), value))


def _one_of(scenario: Scenario) -> Callable[[Any], bool]:
    scopes = {claim.scope for claim in scenario.core.claims}
    return lambda value: value in scopes if isinstance(value, str) else False


def from_report(
    scenario: Scenario, claim: str, found: _core.Counterexample, path: Path, number: int | None
) -> Counterexample:
    """A story that the search found, as it will be stored at `path`."""
    masked = set(found.schedule.masked)
    messages = tuple(m for m in range(1, scenario.core.requests + 1) if m not in masked) if masked else None
    core = _core.spelled_out(found.scenario, found.schedule)
    moved = [(f"stages.{s.name}.module", toml_value(_seen_from(path, scenario, s.module))) for s in core.stages]
    width = max((len(lane) for lane in found.story_lanes), default=0)
    story = tuple(f"{lane:<{width}}  {text}" for lane, text in zip(found.story_lanes, found.story, strict=True))
    return Counterexample(
        path=path,
        scenario=Scenario(Scenario(core.to_toml(), scenario.file, moved).to_toml(), str(path)),
        claim=claim,
        seed=found.schedule.seed,
        messages=messages,
        zero_jitter=found.schedule.zero_jitter,
        schedule=number,
        story=story,
        order=found.schedule.order,
        overtakes=tuple(found.schedule.overtakes),
        causes=tuple(_cause(scenario, cause) for cause in found.causes),
    )


def _cause(scenario: Scenario, cause: dict[str, Any]) -> str:
    """As the scenario's file writes it, and what would mend it."""
    instead = "its default" if cause["instead"] == "default" else _written(cause["instead"])
    where = f"{Path(scenario.file).name}:{cause['line']}"
    return f"{cause['setting']} = {_written(cause['value'])} ({where}); {instead} would do"


def _written(value: str) -> str:
    """Numbers and truth values without quotes."""
    bare = value in ("true", "false") or re.fullmatch(r"-?\d+", value)
    return value if bare else toml_value(value)


def _seen_from(path: Path, scenario: Scenario, module: str) -> str:
    """A module's file is named relative to its scenario; the counterexample may lie elsewhere."""
    file, colon, name = module.partition(":")
    if not colon or scenario.file.startswith("<"):
        return module
    return os.path.relpath((Path(scenario.file).parent / file).resolve(), path.parent.resolve()) + colon + name
