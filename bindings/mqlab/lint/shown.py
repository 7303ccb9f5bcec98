"""What shows each rule: a scenario or a file that has the setting, and the same mended. Tables in shown/."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mqlab.scenario import Scenario

_HERE = Path(__file__).parent / "shown"
_BASES = ("kafka", "nats")
_SUFFIXES = {"properties": ".properties", "conf": ".conf", "json": ".json"}


@dataclass(frozen=True)
class Shown:
    """One rule's example. `violates`: the claim that the model breaks with the setting and keeps with the mend."""

    rule: str
    suffix: str  # of the file: .toml for a scenario
    texts: tuple[str, str]  # with the setting, and mended; of a scenario: the base
    changes: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    violates: str = ""

    def scenario(self, mended: bool) -> Scenario:
        steps = self.changes if mended else self.changes[:1]
        changes = [change for step in steps for change in step.items()]
        return Scenario(self.texts[0], self.rule + ".toml").with_text(changes)

    def text(self, mended: bool) -> str:
        """As a file: what the rule is reported for, or the same mended."""
        if self.suffix == ".toml":
            return self.scenario(mended).to_toml()
        text = self.texts[mended]
        return text if text.endswith("\n") else text + "\n"


@cache
def shown() -> Mapping[str, Shown]:
    """By rule."""
    examples: dict[str, Shown] = {}
    for path in sorted(_HERE.glob("*.toml")):
        if path.stem not in _BASES:
            for rule, about in tomllib.loads(path.read_text(encoding="utf-8")).items():
                examples[rule] = _example(rule, about)
    return examples


def _example(rule: str, about: Mapping[str, str]) -> Shown:
    for kind, suffix in _SUFFIXES.items():
        if kind in about:
            return Shown(rule, suffix, (about[kind], about["mended"]))
    base = (_HERE / f"{about['scenario']}.toml").read_text(encoding="utf-8")
    changes: tuple[Mapping[str, str], Mapping[str, str]] = (about["set"], about["mend"])  # type: ignore[assignment]
    return Shown(rule, ".toml", (base, base), changes, about.get("violates", ""))
