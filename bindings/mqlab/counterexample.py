"""A counterexample: the scenario with its faults spelled out, the few requests that matter, and the story.

The file is a scenario that users could have written themselves, followed by a table `[counterexample]` with what a
scenario does not say: the seed, which requests are made, which claim breaks.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqlab import _core
from mqlab.diagram import space_time
from mqlab.errors import ScenarioError
from mqlab.scenario import Scenario, load, toml_value

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
    text, _, rest = file.read_text(encoding="utf-8").partition(_MARK)
    scenario = Scenario(text + "\n", str(file))
    line = text.count("\n") + 2
    try:
        about = tomllib.loads(rest)
        messages = about.get("messages")
        return Counterexample(
            path=file,
            scenario=scenario,
            claim=str(about["claim"]),
            seed=int(about["seed"]),
            messages=tuple(int(m) for m in messages) if messages is not None else None,
            zero_jitter=bool(about["zero_jitter"]),
            schedule=about.get("schedule"),
            story=tuple(str(step) for step in about["story"]),
            order=int(about.get("order", 0)),
            overtakes=tuple((int(choice), int(pick)) for choice, pick in about.get("overtakes", ())),
            causes=tuple(str(cause) for cause in about.get("causes", ())),
        )
    except (tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise ScenarioError(str(file), line, "counterexample", str(error)) from None
    except KeyError as error:
        raise ScenarioError(str(file), line, f"counterexample.{error.args[0]}", "is missing") from None


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
