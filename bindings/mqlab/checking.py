"""Claims checked on a history that exists already: of this lab, or from elsewhere."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from mqlab import _core
from mqlab.errors import HistoryError, ScenarioError
from mqlab.foreign import logs, operations
from mqlab.foreign.build import Foreign, Parties, is_name
from mqlab.history import KIND, History, read_parquet
from mqlab.scenario import Scenario
from mqlab.verdicts import HOLDS, UNDECIDED, ClaimVerdict, Verdicts, over_one_run

FORMATS = {".csv": "csv", ".json": "operations", ".parquet": "parquet"}  # by the file's ending; all else: jsonl
Claims = Sequence[str] | Mapping[str, object]


def check(history: str | Path | History, claims: Claims = (), form: str | None = None) -> Verdicts:
    """What the claims say of a history: a file, or the `.record` of a run.

    `claims`: ids, each alone or as 'ID = { key = value }', or a mapping of ids to parameters as a scenario's [claims]
    has them; empty: those of the history's scenario, or all that suit a history from elsewhere. `form`: jsonl,
    operations, csv or parquet; by default the file's ending says (docs/history.md). Raises HistoryError for what is no
    history, ScenarioError for a claim that cannot be.
    """
    foreign = Foreign(history, complete=True) if isinstance(history, History) else read(Path(history), form)
    given = foreign.history.scenario.to_dict().get("claims", {})
    wanted = _parsed(claims) or foreign.claims or given
    if not wanted:
        raise HistoryError("the history's scenario has no claims; name some: --claim ID")
    scenario = _with_claims(foreign.history.scenario, wanted)
    findings = _core.check(scenario.core, foreign.history.rows)
    verdicts = over_one_run(scenario, findings, world="elsewhere" if foreign.claims else "history", client="", seed=0)
    gates = {claim["claim"]: claim["gates"] for claim in _core.claim_catalogue()}
    judged = [
        _judged(foreign, verdict, finding.anomalies, gated=bool(claims) or gates.get(verdict.claim, True))
        for verdict, finding in zip(verdicts, findings, strict=True)
    ]
    return dataclasses.replace(verdicts, claims=tuple(judged), brokers=())


def read(path: Path, form: str | None = None) -> Foreign:
    """A history in any form that can be checked."""
    form = form or FORMATS.get(path.suffix, "jsonl")
    if form == "parquet":
        return Foreign(read_parquet(path))
    if path.stat().st_size > _core.HISTORY_BYTES:
        raise HistoryError(f"{path}: larger than {_core.HISTORY_BYTES >> 20} MiB; check it in parts, or as Parquet")
    content = path.read_bytes()
    if form == "jsonl":
        return _read_lines(content, str(path))
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise HistoryError(f"{path}:{line}: this is not UTF-8") from None
    if form == "csv":
        return logs.read(text, str(path))
    return operations.read(_parse(text, str(path)), str(path))


def _read_lines(content: bytes, file: str) -> Foreign:
    header = _core.read_history_header(content, file)
    toml = header["scenario"]
    scenario = Scenario(toml, file) if toml else _parties(header, file).scenario(file)
    rows, complete = _core.read_history(content, file, scenario.core)
    _refuse_repeated_ids(rows, file)
    return Foreign(History(scenario, rows), complete=complete)


def _parties(header: dict[str, Any], file: str) -> Parties:
    parties = Parties(dict(header["topics"]), dict(header["senders"]), dict(header["readers"]))
    for name in (*parties.topics, *parties.senders, *parties.readers):
        if not is_name(name):
            raise HistoryError(f"{file}:1: {name[:40]!r} is no name: letters, digits, '.', '_' or '-'")
    for name, topic in (*parties.senders.items(), *parties.readers.items()):
        if topic not in parties.topics:
            raise HistoryError(f'{file}:1: {name}: there is no topic {topic[:40]!r} among "topics"')
    return parties


def _refuse_repeated_ids(rows: Any, file: str) -> None:
    """A workload stamps each id once; two requests with one id cannot be told apart."""
    asked = np.flatnonzero((rows["kind"] == KIND["invoke"]) & (rows["message"] != 0))
    _, first = np.unique(rows["message"][asked], return_index=True)
    if len(first) == len(asked):
        return
    again = int(np.setdiff1d(asked, asked[first])[0])
    raise HistoryError(f"{file}:{again + 2}: id {rows['message'][again]} was invoked before; an id is invoked once")


def _parse(text: str, file: str) -> dict[str, Any]:
    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            raise HistoryError(
                f"{file}: {next(n for n in names if names.count(n) > 1)[:40]!r} is there twice in an object"
            )
        return found

    try:
        document = json.loads(text, object_pairs_hook=object_of)
    except json.JSONDecodeError as error:
        raise HistoryError(f"{file}:{error.lineno}: this is no JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise HistoryError(f"{file}: this is no JSON that can be read: {error}") from None
    if not isinstance(document, dict):
        raise HistoryError(f'{file}:1: must be an object with "ops", a list of operations')
    return document


def _parsed(claims: Claims) -> dict[str, object]:
    if isinstance(claims, Mapping):
        return dict(claims)
    found: dict[str, object] = {}
    for text in claims:
        name, equals, parameters = text.partition("=")
        if not equals:
            found[text.strip()] = True
            continue
        try:
            found[name.strip()] = tomllib.loads(f"it = {parameters}")["it"]
        except tomllib.TOMLDecodeError as error:
            raise ScenarioError("--claim", 0, name.strip(), f"write ID={{ key = value }}: {error}") from None
    return found


def _with_claims(scenario: Scenario, claims: Mapping[str, object]) -> Scenario:
    return Scenario(tomli_w.dumps(scenario.to_dict() | {"claims": dict(claims)}), "--claim")


def _judged(foreign: Foreign, verdict: ClaimVerdict, anomalies: list[dict[str, Any]], gated: bool) -> ClaimVerdict:
    changes: dict[str, Any] = {"gates": gated, "anomalies": tuple(_named(foreign, a) for a in anomalies)}
    if verdict.verdict == HOLDS and not foreign.complete:
        changes |= {"verdict": UNDECIDED, "explanation": "the history is cut short: it has no end line"}
    return dataclasses.replace(verdict, **changes)


def _named(foreign: Foreign, anomaly: dict[str, Any]) -> dict[str, Any]:
    """Ids, places and operations as the source calls them."""
    named = dict(anomaly)
    if "place" in named:
        place = foreign.history.places[named["place"]]
        named["place"] = foreign.keys.get(place, place)
    for part in ("ids", "skipped"):
        if part in named and foreign.ids:
            named[part] = [foreign.ids[number - 1] for number in named[part]]
    rows = named.pop("rows", [])
    named["operations" if foreign.operations else "rows"] = [_operation(foreign, row) for row in rows]
    if "steps" in named:
        named["steps"] = [_named(foreign, step) for step in named["steps"]]
    return named


def _operation(foreign: Foreign, row: int) -> int:
    return foreign.operations[row] if foreign.operations else row
