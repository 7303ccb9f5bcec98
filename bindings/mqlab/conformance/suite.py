"""The suite: every fact there is, and the entries that show them. A fact without an entry is a hole, and seen."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mqlab.conformance.entry import Entry, read_entry
from mqlab.errors import ScenarioError

KINDS = ("kafka", "nats")


@dataclass(frozen=True)
class Fact:
    """`why`: the reason where there is no entry; a fact with neither is a hole."""

    id: str
    section: str
    says: str
    why: str = ""


@dataclass(frozen=True)
class Suite:
    facts: tuple[Fact, ...]  # in the order of facts.toml
    entries: Mapping[str, Entry]  # fact → entry

    def of(self, kinds: tuple[str, ...], only: tuple[str, ...] = ()) -> list[Entry]:
        """Entries of some kinds of broker, in the order of the facts. Raises ScenarioError for a fact unknown."""
        for wanted in only:
            if wanted not in self.entries:
                known = any(fact.id == wanted for fact in self.facts)
                more = "is not shown by an entry" if known else "there is no such fact; see docs/fidelity.md"
                raise ScenarioError("--fact", 0, wanted, more)
        return [
            self.entries[fact.id]
            for fact in self.facts
            if fact.id in self.entries and fact.id.split("/")[0] in kinds and (not only or fact.id in only)
        ]


def folder() -> Path:
    """Where the entries lie: beside this file where the package was installed, else in the source tree's tests."""
    here = Path(__file__).resolve()
    return here.parent if here.with_name("facts.toml").is_file() else here.parents[3] / "tests" / "conformance"


@cache
def load_suite() -> Suite:
    """Raises ScenarioError for an entry that cannot be read, or whose fact is not in facts.toml."""
    root = folder()
    listed = tomllib.loads((root / "facts.toml").read_text(encoding="utf-8"))
    facts = []
    entries = {}
    for kind in KINDS:
        for file in sorted((root / kind).glob("*.toml")):
            entry = read_entry(file)
            entries[entry.fact] = entry
        for section, table in listed.get(kind, {}).items():
            for name, about in table.items():
                fact = f"{kind}/{name}"
                says = entries[fact].says if fact in entries else about.get("says", name)
                facts.append(Fact(fact, section, says, about.get("why", "")))
    known = {fact.id for fact in facts}
    for fact, entry in entries.items():
        if fact not in known:
            raise ScenarioError(str(entry.file), 0, "", f"the fact {fact} is not in {root / 'facts.toml'}")
    return Suite(tuple(facts), entries)
