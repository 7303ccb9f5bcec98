"""Settings that silently weaken a guarantee, or contradict each other: each with reason, source and mend.

findings = mqlab.lint("pipeline.toml", "producer.properties", "server.conf")

A scenario says what is claimed of it, so only what threatens its claims is reported. Files of a client, a broker, a
stream or a consumer claim nothing: there everything is reported. docs/lint.md has all rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from os import PathLike
from pathlib import Path

from mqlab.errors import ScenarioError
from mqlab.input_text import read_text
from mqlab.lint.rule import Finding, Rule
from mqlab.lint.subject import Subject

__all__ = ["KINDS", "Finding", "Rule", "lint", "rules"]

KINDS = ("java-producer", "java-consumer", "librdkafka-producer", "librdkafka-consumer", "kafka-broker", "kafka-topic")
_MOST_BYTES = 4 << 20


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, in the order of the documentation."""
    from mqlab.lint import (
        rules_files,
        rules_kafka_broker,
        rules_kafka_consumer,
        rules_kafka_producer,
        rules_nats,
        rules_nats_consumer,
        rules_pipeline,
    )

    topics = (
        rules_kafka_producer, rules_kafka_consumer, rules_kafka_broker, rules_nats, rules_nats_consumer,
        rules_pipeline, rules_files,
    )  # fmt: skip
    return tuple(rule for topic in topics for rule in topic.RULES)


def lint(*files: str | PathLike[str], kind: str = "", version: str = "") -> list[Finding]:
    """What is wrong with scenarios (.toml), Kafka .properties, NATS .conf and .json files, by file and line.

    `kind`: whose settings the .properties files hold (java-producer, librdkafka-consumer, kafka-broker …); told from
    the keys unless given. `version`: of the broker and client whose defaults count. Files given together are one
    system: a client's limits are compared with the broker's. Raises ScenarioError for a file that cannot be read.
    """
    if kind not in ("", *KINDS):
        raise ValueError(f"a kind is one of {', '.join(KINDS)}, not {kind!r}")
    subjects = [subject for file in files for subject in _read(str(file), kind, version)]
    brokers = [s for s in subjects if s.kind == "kafka broker" and s.pipeline is None]
    for subject in subjects:
        if subject.broker is None and len(brokers) == 1 and subject is not brokers[0]:
            subject.broker = brokers[0]
    found = {finding for subject in subjects for finding in _judge(subject)}
    order = {str(file): number for number, file in enumerate(files)}
    return sorted(found, key=lambda f: (order[f.file], f.line, f.path, f.rule))


def _read(file: str, kind: str, version: str) -> Sequence[Subject]:
    suffix = Path(file).suffix
    if suffix == ".toml":
        from mqlab.lint.from_scenario import subjects_of
        from mqlab.scenario import load

        return subjects_of(load(file))
    text = read_text(file, _MOST_BYTES, "a file")
    if suffix == ".properties":
        from mqlab.lint.from_properties import VERSION, read_properties

        return [read_properties(text, file, kind, version or VERSION)]
    if suffix in (".conf", ".json", ".cfg"):
        from mqlab.lint.from_nats import read_nats

        return [read_nats(text, file, version)]
    raise ScenarioError(file, 0, "", "is not a .toml, .properties, .conf or .json file")


def _judge(subject: Subject) -> Iterator[Finding]:
    for rule in rules():
        if subject.kind not in rule.on or not rule.when(subject):
            continue
        claims = subject.pipeline.claims_about(rule.threatens) if subject.pipeline is not None else ()
        if subject.pipeline is not None and rule.threatens and not claims:
            continue  # nothing that is claimed rests on it
        for key, line in _places(rule, subject):
            yield Finding(
                subject.file, line, subject.path_of(key), rule.id, rule.severity, rule.reason, rule.mend, rule.source,
                tuple(claim.scope for claim in claims),
            )  # fmt: skip


def _places(rule: Rule, subject: Subject) -> list[tuple[str, int]]:
    """Where a rule is reported: rules about files as such name the keys themselves."""
    if not rule.at.startswith("*"):
        return [(rule.at, subject.line_of(rule.at))]
    from mqlab.lint.rules_files import of_another, refused

    if rule.at == "*repeated":
        return subject.repeated
    if rule.at == "*refused":
        key = refused(subject)
        return [(key, subject.line_of(key))]
    another = rule.at == "*another"
    return [(key, given.line) for key, given in subject.unknown.items() if bool(of_another(subject, key)) == another]
