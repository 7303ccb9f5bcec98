"""Which facts a scenario's verdicts rest on: those whose words (settings, modules, actions) are all in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from mqlab.conformance.suite import load_suite
from mqlab.scenario import Scenario


def rests_on(scenario: Scenario) -> tuple[str, ...]:
    """Facts of the scenario's kinds of broker that the model shows and that concern what the scenario sets."""
    return _rests_on(scenario.to_toml(), scenario)


@lru_cache(maxsize=32)
def _rests_on(_text: str, scenario: Scenario) -> tuple[str, ...]:
    said = set(_words(scenario.to_dict()))
    kinds = {broker.kind for broker in scenario.core.brokers}
    suite = load_suite()
    entries = [suite.entries[fact.id] for fact in suite.facts if fact.id in suite.entries]
    return tuple(
        entry.fact
        for entry in entries
        if entry.broker in kinds and "sim" not in entry.cannot and entry.concerns and said.issuperset(entry.concerns)
    )


def _words(value: object) -> Iterator[str]:
    """Every key and every text in a scenario."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
    elif isinstance(value, str):
        yield value
