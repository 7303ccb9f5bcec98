"""A driver file of OpenMessaging Benchmark: which broker, with which of its own settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mqlab.omb.files import Table, read_table

_COMMON = ("name", "driverClass", "replicationFactor", "reset")
_KAFKA = (*_COMMON, "topicConfig", "commonConfig", "producerConfig", "consumerConfig")
_NATS = (*_COMMON, "natsHostUrl", "jsConfig", "storageType")
_KINDS = {"kafka": ("kafka", _KAFKA), "nats": ("nats", _NATS), "jetstream": ("nats", _NATS)}
# Where the benchmark's own cluster is: the lab starts one, or is told an address elsewhere.
_ADDRESSES = {"bootstrap.servers"}


@dataclass(frozen=True)
class Setting:
    key: str
    value: str
    line: int


@dataclass(frozen=True)
class Driver:
    """One file's content: the broker's kind, and the blocks of properties in it."""

    table: Table
    name: str
    kind: str  # kafka | nats
    replication: int
    topic: tuple[Setting, ...]
    producer: tuple[Setting, ...]
    consumer: tuple[Setting, ...]


def read_driver(file: str) -> Driver:
    """Raises ScenarioError for what is no driver, or one for a broker that is not modelled."""
    every = dict.fromkeys([*_KAFKA, *_NATS])
    table = read_table(file, every, "OpenMessaging Benchmark driver")
    name = table.text("driverClass")
    kind, keys = next((_KINDS[word] for word in _KINDS if f".driver.{word}." in name), ("", ()))
    if not kind:
        raise table.wrong("driverClass", f"{name!r} is not run; there are the drivers of Kafka and NATS")
    for key in table.entries:
        if key not in keys:
            raise table.wrong(key, f"is no key of the {kind} driver")
    common = [s for s in _properties(table, "commonConfig") if s.key not in _ADDRESSES]
    return Driver(
        table=table,
        name=table.text("name", kind),
        kind=kind,
        replication=table.whole("replicationFactor", 1, 1),
        topic=tuple(_properties(table, "topicConfig")),
        producer=(*common, *_properties(table, "producerConfig")),
        consumer=(*common, *_properties(table, "consumerConfig")),
    )


def _properties(table: Table, key: str) -> Iterator[Setting]:
    """The lines KEY=VALUE of a block, with the line each stands on."""
    if key not in table:
        return
    entry = table.entries[key]
    for number, text in enumerate(table.text(key).splitlines(), entry.value_line + 1):
        line = text.strip()
        if not line or line.startswith(("#", "!")):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise table.wrong(key, f"{line!r} is not of the form KEY=VALUE")
        yield Setting(name.strip(), value.strip(), number)
