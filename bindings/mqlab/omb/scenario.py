"""A workload file and a driver file as one scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from mqlab.errors import ScenarioError
from mqlab.omb.driver import Driver, Setting, read_driver
from mqlab.omb.workload import Workload, read_workload
from mqlab.scenario import Scenario

_NAME = "<OpenMessaging Benchmark>"


@dataclass
class _Lines:
    """The scenario's text, and for each of its lines what it comes from: file, line, key."""

    text: list[str] = field(default_factory=list)
    origins: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, line: str, origin: tuple[str, int, str] = ("", 0, "")) -> None:
        self.text.append(line)
        self.origins.append(origin)

    def settings(self, table: str, settings: Sequence[Setting], file: str) -> None:
        if settings:
            self.add(f"[{table}]")
        for s in settings:
            self.add(f"{json.dumps(s.key)} = {json.dumps(s.value)}", (file, s.line, s.key))


def omb_scenario(workload_file: str, driver_file: str, duration: str | None = None) -> Scenario:
    """The scenario that the two files describe; `duration` in place of the workload's testDurationMinutes.

    Java's client, as the benchmark uses it. Each subscription is a stage of consumers that commit without waiting, as
    the benchmark's do; its warm-up is left out. Raises ScenarioError with the file and line at fault.
    """
    workload, driver = read_workload(workload_file), read_driver(driver_file)
    lines = _scenario(workload, driver, duration or f"{workload.duration:g}s")
    try:
        return Scenario("\n".join(lines.text) + "\n", _NAME)
    except ScenarioError as error:
        file, line, key = lines.origins[error.line - 1] if 0 < error.line <= len(lines.origins) else ("", 0, "")
        if not file:
            file, line, key = workload_file, 0, error.path
        raise ScenarioError(file, line, key, error.problem) from None


def _scenario(workload: Workload, driver: Driver, duration: str) -> _Lines:
    lines = _Lines()
    replicas = (driver.table.file, _line(driver.table.entries.get("replicationFactor")), "replicationFactor")
    lines.add(f"name = {json.dumps(_word(workload.name))}")
    lines.add(f"question = {json.dumps(f'{workload.name} on {driver.name}')}")
    lines.add("[broker]")
    lines.add(f'kind = "{driver.kind}"')
    lines.add(f"nodes = {1 if driver.replication == 1 else 3}", replicas)
    if driver.kind == "kafka":  # the benchmark starts its clock when all consumers are there
        lines.add('properties = { "group.initial.rebalance.delay.ms" = "0" }')
    lines.add("[client]")
    lines.add(f'flavour = "{"java" if driver.kind == "kafka" else "nats.c"}"')
    for number in range(1, workload.topics + 1):
        _topic(lines, workload, driver, number, duration, replicas)
    lines.add("[claims]")
    lines.add("no_loss = [")
    for stage, topic in _stages(workload):
        lines.add(f'  {{ of = "{topic}", deliveries = true, stage = "{stage}" }},')
    lines.add("]")
    return lines


def _topic(
    lines: _Lines, workload: Workload, driver: Driver, number: int, duration: str, replicas: tuple[str, int, str]
) -> None:
    name, place = f"topic-{number}", "topic" if driver.kind == "kafka" else "stream"
    origin = (workload.table.file, _line(workload.table.entries.get("partitionsPerTopic")), "partitionsPerTopic")
    lines.add(f"[[{place}s]]")
    lines.add(f'name = "{name}"')
    if driver.kind == "kafka":
        lines.add(f"partitions = {workload.partitions}", origin)
        lines.add(f"replication = {driver.replication}", replicas)
    else:
        lines.add(f"replicas = {driver.replication}", replicas)
    lines.settings(f"{place}s.properties", driver.topic, driver.table.file)
    lines.add("[[workloads]]")
    lines.add(f'name = "producer-{number}"')
    lines.add(f'{place} = "{name}"')
    entries, file = workload.table.entries, workload.table.file
    lines.add(
        f"rate = {json.dumps(f'{workload.rate / workload.topics:.9g}/s')}",
        (file, _line(entries.get("producerRate")), "producerRate"),
    )
    lines.add(f'duration = "{duration}"', (file, _line(entries.get("testDurationMinutes")), "testDurationMinutes"))
    lines.add(f'size = "{workload.message_bytes}B"', (file, _line(entries.get("messageSize")), "messageSize"))
    lines.add(f"keys = {workload.keys}")
    lines.add(f"producers = {workload.producers}", (file, _line(entries.get("producersPerTopic")), "producersPerTopic"))
    lines.settings("workloads.producer", driver.producer, driver.table.file)
    for subscription in range(1, workload.subscriptions + 1):
        lines.add("[[stages]]")
        lines.add(f'name = "subscription-{number}-{subscription}"')
        lines.add('module = "consumer"')
        lines.add(f'commit = "{_commit(driver)}"')
        lines.add(f'input = "{name}"')
        lines.add(f"instances = {workload.consumers}")
        lines.settings("stages.consumer", driver.consumer, driver.table.file)


def _stages(workload: Workload) -> list[tuple[str, str]]:
    """Every subscription, with its topic."""
    each = range(1, workload.subscriptions + 1)
    return [(f"subscription-{t}-{s}", f"topic-{t}") for t in range(1, workload.topics + 1) for s in each]


def _commit(driver: Driver) -> str:
    """KafkaBenchmarkConsumer commits after each poll without waiting, unless the client does it by itself."""
    automatic = any(s.key == "enable.auto.commit" and s.value == "true" for s in driver.consumer)
    return "auto" if automatic else "async"


def _line(entry: object) -> int:
    return int(getattr(entry, "line", 0))


def _word(text: str) -> str:
    """A name as scenarios have them."""
    kept = "".join(c if c.isalnum() and c.isascii() else "-" for c in text.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "omb"
