"""The subject of a .properties file: a Kafka producer's, consumer's, broker's or topic's."""

from __future__ import annotations

import io

import javaproperties

from mqlab.errors import ScenarioError
from mqlab.lint import KINDS
from mqlab.lint.subject import Given, Subject, table_of

VERSION = "4.1"  # whose defaults a file is read with, unless --version says another
TABLES = {kind: kind.replace("-", " ") for kind in KINDS}
_NO_SETTINGS = ("sasl.", "ssl.", "security.", "listener.", "confluent.", "metric", "interceptor", "topic.", "group.")


def read_properties(text: str, file: str, kind: str = "", version: str = VERSION) -> Subject:
    """`kind`: one of KINDS; empty: told from the keys, and from the file's name where these do not tell."""
    pairs, repeated = _pairs(text, file)
    table = TABLES[kind] if kind else _guess(pairs, file, version)
    flavour, _, role = table.partition(" ")
    known = table_of(table, version)
    values = {known.canonical[key]: given for key, given in pairs.items() if key in known.canonical}
    unknown = {
        key: given
        for key, given in pairs.items()
        if key not in known.canonical and key not in known.known and not key.startswith(_NO_SETTINGS)
    }
    subject = Subject(f"kafka {role}", file, "", 1, flavour, version, values, table)
    subject.repeated, subject.unknown = repeated, unknown
    return subject


def _pairs(text: str, file: str) -> tuple[dict[str, Given], list[tuple[str, int]]]:
    pairs: dict[str, Given] = {}
    repeated = []
    line = 1
    try:
        for part in javaproperties.parse(io.StringIO(text)):
            if isinstance(part, javaproperties.KeyValue):
                if part.key in pairs:
                    repeated.append((part.key, line))
                pairs[part.key] = Given(part.value.strip(), line)
            line += part.source.count("\n")
    except javaproperties.InvalidUEscapeError as error:
        raise ScenarioError(file, line, "", f"{error}; an escape is \\u and four hexadecimal digits") from None
    if not pairs:
        raise ScenarioError(file, 0, "", "has no settings; a properties file has lines KEY=VALUE")
    return pairs, repeated


def _guess(pairs: dict[str, Given], file: str, version: str) -> str:
    """The table that knows most of the keys; of equal ones the one that the file's name speaks of, then Java's."""
    name = file.rsplit("/", 1)[-1].lower()

    def fit(table: str) -> tuple[int, bool, bool]:
        known = table_of(table, version)
        keys = sum(key in known.canonical or key in known.known for key in pairs)
        role = table.rpartition(" ")[2]
        return keys, role in name or (role == "broker" and "server" in name), table.startswith("java")

    best = max(TABLES.values(), key=fit)
    if fit(best)[0] == 0:
        kinds = ", ".join(KINDS)
        raise ScenarioError(file, 0, "", f"has no setting of a Kafka client, broker or topic; say which it is: {kinds}")
    return best
