"""One entry: a fact about a broker or client, the run that shows it, and what must be seen."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from mqlab.errors import ScenarioError
from mqlab.scenario import Scenario, toml_value

WORLDS = ("sim", "live")
_TOP = {
    "says",
    "source",
    "versions",
    "concerns",
    "base",
    "set",
    "faults",
    "expect",
    "refused",
    "run",
    "defaults",
    *WORLDS,
}
_RUN = {"name", "base", "set", "faults", "expect", "refused"}
_WORLD = {"cannot", "set", "expect", "java", "nats"}
SCRIPT = Path(__file__).with_name("script.py")


@dataclass(frozen=True)
class Step:
    """A request made by hand through the probe of a broker, and the answer it must have."""

    request: str
    answer: Any


@dataclass(frozen=True)
class Defaults:
    """What an owner's settings are when nobody sets them: `owner` as in docs/settings.md, "java producer"."""

    owner: str
    version: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Planned:
    """One run of an entry in one world: a scenario and what must be seen in it, or a refusal of it."""

    name: str
    base: str
    changes: Mapping[str, Any]
    faults: Sequence[Mapping[str, Any]]
    expect: Sequence[Mapping[str, Any]]
    refused: str  # the scenario or the client must refuse, with these words; empty: it must run


@dataclass(frozen=True)
class Entry:
    """`fact`: BROKER/NAME, from the file's place. `cannot`: world → why it cannot be shown there."""

    fact: str
    file: Path
    says: str
    source: tuple[str, ...]
    versions: str  # of the broker: ">=4.0", "<3.7"; empty: all
    concerns: tuple[str, ...]  # words of scenarios whose verdicts rest on it: settings, modules, actions
    cannot: Mapping[str, str]
    java: tuple[Step, ...]  # live: by the Java client
    nats: tuple[Step, ...]  # live: by requests to the server
    defaults: Defaults | None  # shown without a run, in both worlds
    _document: Mapping[str, Any]

    @property
    def broker(self) -> str:
        return self.fact.split("/", 1)[0]

    def runs(self, world: str) -> list[Planned]:
        """What is to be run in a world. Later tables win: the entry's, the run's, the world's."""
        document = self._document
        here = document.get(world, {})
        if self.defaults or (world == "live" and (self.java or self.nats)):
            return []
        parts = document.get("run", [{}])
        return [
            Planned(
                name=part.get("name", ""),
                base=part.get("base", document.get("base", "")),
                changes={**document.get("set", {}), **part.get("set", {}), **here.get("set", {})},
                faults=part.get("faults", document.get("faults", [])),
                expect=[*document.get("expect", []), *part.get("expect", []), *here.get("expect", [])],
                refused=part.get("refused", document.get("refused", "")),
            )
            for part in parts
        ]

    def scenario(self, planned: Planned) -> Scenario:
        """Raises ScenarioError, also where the entry wants a scenario that is refused."""
        base = self.file.parent.parent / "bases" / f"{planned.base}.toml"
        try:
            text = base.read_text(encoding="utf-8")
        except OSError as error:
            raise ScenarioError(str(self.file), 0, "base", f"{base.name} cannot be read: {error.strerror}") from None
        text = text.replace("{script}", f"{SCRIPT}:Script")
        for fault in planned.faults:
            text += "\n" + tomli_w.dumps({"fault": dict(fault)}).replace("[fault]", "[[fault]]", 1)
        overrides = [(path, toml_value(value)) for path, value in planned.changes.items()]
        return Scenario(text, str(base), overrides)


def read_entry(file: Path) -> Entry:
    """Raises ScenarioError, naming file and key."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(str(file), 0, "", f"is no TOML: {error}") from None
    _only(file, "", document, _TOP)
    for part in document.get("run", []):
        _only(file, "run", part, _RUN)
    for world in WORLDS:
        _only(file, world, document.get(world, {}), _WORLD)
    if not document.get("says") or not document.get("source"):
        raise ScenarioError(str(file), 0, "says", "an entry says what is so, and names its source")
    entry = Entry(
        fact=f"{file.parent.name}/{file.stem}",
        file=file,
        says=document["says"],
        source=tuple([document["source"]] if isinstance(document["source"], str) else document["source"]),
        versions=document.get("versions", ""),
        concerns=tuple(document.get("concerns", ())),
        cannot={world: document[world]["cannot"] for world in WORLDS if document.get(world, {}).get("cannot")},
        java=tuple(Step(request, answer) for request, answer in document.get("live", {}).get("java", [])),
        nats=tuple(Step(request, answer) for request, answer in document.get("live", {}).get("nats", [])),
        defaults=Defaults(**document["defaults"]) if "defaults" in document else None,
        _document=document,
    )
    for world in WORLDS:
        _shows_something(entry, world)
    return entry


def _shows_something(entry: Entry, world: str) -> None:
    """An entry that expects nothing would agree with anything."""
    if entry.defaults or world in entry.cannot or (world == "live" and (entry.java or entry.nats)):
        return
    for planned in entry.runs(world):
        if not planned.base or not (planned.expect or planned.refused):
            raise ScenarioError(str(entry.file), 0, "expect", f"nothing is run or expected in the world {world}")


def _only(file: Path, where: str, table: Mapping[str, Any], known: set[str]) -> None:
    for key in table:
        if key not in known:
            path = f"{where}.{key}" if where else key
            raise ScenarioError(str(file), 0, path, f"there is no such key; there is {', '.join(sorted(known))}")
