"""docs/fidelity.md: where model and real broker agree, fact by fact. Made from the entries, a run of the simulated
world, and the latest live results that were kept (tests/conformance/live.json)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from mqlab.conformance import runner
from mqlab.conformance.suite import KINDS, Fact, Suite, folder, load_suite

_HEAD = """\
# Fidelity: where the model agrees with real brokers

Each fact is shown by an entry (`tests/conformance`): a scenario, what must be seen, where it is said. *simulated* and
*live* say whether the run of that world showed it; the live results are those of one whole run on this project's
brokers, kept in `tests/conformance/live.json`. *by hand* in the live column: shown by Java's own client or by requests
to the server, since no scenario can ask for it. A fact without an entry is a **hole**, or says why it is not modelled.

    mqlab conformance                                    # the simulated world
    mqlab conformance --world live                       # real brokers, started here
    mqlab conformance kafka --address HOST:PORT          # your own, never harmed
    mqlab conformance --fact nats/ack-wait --json

This page is generated: `MQLAB_UPDATE_DOCS=1 pytest tests/python/test_conformance.py` writes it anew, and
`mqlab conformance --world live --json > tests/conformance/live.json` the live results.
"""
_NAMES = {"kafka": "Kafka", "nats": "NATS JetStream"}
_SIGNS = {"agrees": "yes", "differs": "**differs**", "cannot": "–", "other-version": "other version"}


def live_results() -> Mapping[str, Mapping[str, Any]]:
    """Fact → its part of the kept conformance document; none before the first live run."""
    path = folder() / "live.json"
    if not path.is_file():
        return {}
    document = json.loads(path.read_text(encoding="utf-8"))
    return {fact["fact"]: fact for fact in document["facts"]}


def page() -> str:
    """The whole page."""
    suite = load_suite()
    simulated = {one.entry.fact: one for one in runner.run(list(suite.entries.values()), "sim")}
    live = live_results()
    parts = [_HEAD, _summary(suite, simulated, live)]
    for kind in KINDS:
        parts.append(f"## {_NAMES[kind]}\n")
        facts = [fact for fact in suite.facts if fact.id.startswith(kind + "/")]
        for section in dict.fromkeys(fact.section for fact in facts):
            rows = [_row(fact, suite, simulated, live) for fact in facts if fact.section == section]
            head = "| fact | what is so | simulated | live | source |\n|---|---|---|---|---|"
            parts.append(f"### {section}\n\n{head}\n" + "\n".join(rows) + "\n")
        parts.append(_reasons(kind, suite, live))
    return "\n".join(parts).rstrip() + "\n"


def _summary(suite: Suite, simulated: Mapping[str, runner.Outcome], live: Mapping[str, Mapping[str, Any]]) -> str:
    head = "| broker | facts | simulated: agree | live: agree | differ | holes |\n|---|---|---|---|---|---|"
    rows = []
    for kind in KINDS:
        facts = [fact for fact in suite.facts if fact.id.startswith(kind + "/")]
        here = Counter(simulated[fact.id].result for fact in facts if fact.id in simulated)
        there = Counter(live[fact.id]["result"] for fact in facts if fact.id in live and fact.id in suite.entries)
        holes = sum(fact.id not in suite.entries and not fact.why for fact in facts)
        differ = here["differs"] + there["differs"]
        rows.append(f"| {_NAMES[kind]} | {len(facts)} | {here['agrees']} | {there['agrees']} | {differ} | {holes} |")
    return head + "\n" + "\n".join(rows) + "\n"


def _row(fact: Fact, suite: Suite, simulated: Mapping[str, runner.Outcome], live: Mapping[str, Any]) -> str:
    name = fact.id.split("/", 1)[1]
    entry = suite.entries.get(fact.id)
    if entry is None:
        return f"| {name} | {_cell(fact.says)} | {'not modelled' if fact.why else '**hole**'} | | |"
    there = live.get(fact.id)
    seen = _SIGNS[there["result"]] if there else "not run"
    if there and entry.java + entry.nats and there["result"] == runner.AGREES:
        seen = "by hand"
    here, source = _SIGNS[simulated[fact.id].result], _cell("; ".join(entry.source))
    return f"| {name} | {_cell(fact.says)} | {here} | {seen} | {source} |"


def _reasons(kind: str, suite: Suite, live: Mapping[str, Any]) -> str:
    lines = []
    for fact in suite.facts:
        if not fact.id.startswith(kind + "/"):
            continue
        name = fact.id.split("/", 1)[1]
        if fact.why:
            lines.append(f"- `{name}` is not modelled: {fact.why}.")
        entry = suite.entries.get(fact.id)
        for world, why in entry.cannot.items() if entry else ():
            lines.append(
                f"- `{name}` cannot be shown {'live' if world == 'live' else 'in the simulated world'}: {why}."
            )
        if entry and entry.versions and live.get(fact.id, {}).get("result") == runner.OTHER_VERSION:
            lines.append(f"- `{name}` is of versions {entry.versions}; {live[fact.id]['version']} ran.")
    return "### Why not\n\n" + "\n".join(lines) + "\n" if lines else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
