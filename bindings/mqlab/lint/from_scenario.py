"""The subjects of a scenario: every map of settings, tied to the topics, brokers and stages around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqlab import _core
from mqlab.lint.subject import Claim, Given, Pipeline, Subject, table_of
from mqlab.scenario import Scenario

Maps = dict[str, tuple[int, dict[str, Given]]]
_MODULE_DEFAULTS = {"commit": "sync", "when": "after", "batch": "1", "publish_waits": "false"}


def subjects_of(scenario: Scenario) -> list[Subject]:
    """All that rules look at. The scenario is valid: what contradicts itself has been refused by its reader."""
    return _Reader(scenario).read()


def _many(document: Mapping[str, Any], singular: str) -> list[dict[str, Any]]:
    found = document.get(singular + "s", document.get(singular, []))
    return list(found) if isinstance(found, list) else [found]


class _Reader:
    def __init__(self, scenario: Scenario) -> None:
        self.file = scenario.file
        self.flavour = scenario.core.flavour
        self.document = scenario.to_dict()
        self.maps: Maps = {
            path: (line, {key: Given(value, at) for key, (value, at) in given.items()})
            for path, line, given in _core.property_maps(scenario.core)
        }
        self.pipeline = Pipeline(
            tuple(Claim(c.id, c.scope, c.line) for c in scenario.core.claims if not c.expect_violated),
            frozenset(scenario.core.menu if self.document["faults"]["at_most"] else ()),
            self.document,
        )
        self.brokers: dict[str, Subject] = {}
        self.topics: dict[str, Subject] = {}

    def read(self) -> list[Subject]:
        brokers = _many(self.document, "broker")
        for broker in brokers:
            self.brokers[broker["name"]] = self._broker(broker, len(brokers) == 1)
        for word in ("topic", "stream"):
            for topic in _many(self.document, word):
                self.topics[topic["name"]] = self._topic(topic, word)
        clients = [s for w in _many(self.document, "workload") for s in self._workload(w)]
        clients += [s for g in _many(self.document, "stage") for s in self._stage(g)]
        clients += [self._observer(o) for o in _many(self.document, "observer")]
        return [*self.brokers.values(), *self.topics.values(), *clients]

    def _subject(self, kind: str, map_path: str, shown_path: str, table: str, version: str) -> Subject:
        line, given = self.maps[map_path]
        canonical = table_of(table, version).canonical if table else {}
        values = {canonical.get(key, key): value for key, value in given.items()}
        return Subject(kind, self.file, shown_path, line, self.flavour, version, values, table, pipeline=self.pipeline)

    def _broker(self, broker: Mapping[str, Any], only: bool) -> Subject:
        kind = "kafka broker" if broker["kind"] == "kafka" else "nats server"
        path = f"brokers.{broker['name']}.properties"
        subject = self._subject(kind, path, "broker.properties" if only else path, kind, broker["version"])
        subject.facts = {"nodes": broker["nodes"], "version": broker["version"]}
        return subject

    def _topic(self, topic: Mapping[str, Any], word: str) -> Subject:
        broker = self.brokers[topic["broker"]] if topic.get("broker") else next(iter(self.brokers.values()))
        kind = "nats stream" if word == "stream" else "kafka topic"
        path = f"{word}s.{topic['name']}.properties"
        subject = self._subject(kind, path, path, kind, broker.version)
        subject.broker = broker
        subject.facts = {
            "name": topic["name"],
            "nodes": broker.fact("nodes"),
            "replication": topic.get("replication", topic.get("replicas", 1)),
            "partitions": topic.get("partitions", 1),
        }
        return subject

    def _client(self, role: str, map_path: str, shown_path: str, topics: list[str]) -> Subject:
        at = [self.topics[name] for name in topics if name in self.topics]
        broker = (at[0].broker if at else None) or next(iter(self.brokers.values()))
        nats = broker.kind == "nats server"
        table = f"nats {role}" if nats else f"{self.flavour} {role}"
        kind = f"nats {role}" if nats else f"kafka {role}"
        subject = self._subject(kind, map_path, shown_path, table, broker.version)
        subject.broker, subject.topics = broker, at
        for topic in at:
            (topic.writers if role == "producer" else topic.readers).append(subject)
        return subject

    def _workload(self, workload: Mapping[str, Any]) -> list[Subject]:
        path = f"workloads.{workload['name']}.producer"
        only = len(_many(self.document, "workload")) == 1
        producer = self._client("producer", path, "workload.producer" if only else path, [workload["topic"]])
        keys = workload["keys"]
        size = workload["size"]
        producer.facts = {
            "instances": workload["producers"],
            "workload": True,
            "keys": keys if isinstance(keys, str) else keys["kind"],
            "size": size if isinstance(size, int) else size["high"],
            "rate": workload["rate"],
        }
        if producer.broker is not None:
            producer.broker.facts.setdefault("sizes", []).append(producer.facts["size"])
        return [producer]

    def _stage(self, stage: Mapping[str, Any]) -> list[Subject]:
        name = stage["name"]
        owner = self._subject("stage", f"stages.{name}", f"stages.{name}", "", "")
        defaults = dict(_MODULE_DEFAULTS)
        for key, value in stage.items():
            if isinstance(value, (str, int, float, bool)) and key not in owner.values:
                owner.values[key] = Given(str(value).lower() if isinstance(value, bool) else str(value), owner.line)
        for key, text in defaults.items():
            owner.values.setdefault(key, Given(text, owner.line))
        owner.facts = {
            "work_ms": longest_ms(stage["service_time"]),
            "instances": stage["instances"],
            "module": stage["module"],
            "retry": stage["retry"],
            "failure": stage["failure"],
            "outputs": stage["outputs"],
        }
        consumer = self._client("consumer", f"stages.{name}.consumer", f"stages.{name}.consumer", stage["inputs"])
        found = [owner, consumer]
        if stage["outputs"]:
            found.append(
                self._client("producer", f"stages.{name}.producer", f"stages.{name}.producer", stage["outputs"])
            )
        for client in found[1:]:
            client.stage, client.facts = owner, owner.facts
        owner.topics, owner.broker = consumer.topics, consumer.broker
        return found

    def _observer(self, observer: Mapping[str, Any]) -> Subject:
        path = f"observers.{observer['name']}.consumer"
        subject = self._client("consumer", path, path, [observer["topic"]])
        subject.facts = {"observer": True, "instances": 1}
        return subject


def longest_ms(time: str | Mapping[str, Any]) -> float:
    """How long one message takes at most, or in 99 of 100 cases where a distribution has no end."""
    if isinstance(time, str):
        return (_core.nanoseconds(time) or 0) / 1e6
    key = {"constant": "value", "uniform": "high", "exponential": "mean", "lognormal": "p99"}[time["kind"]]
    length = (_core.nanoseconds(time[key]) or 0) / 1e6
    return length * (4.6 if key == "mean" else 1.0)  # ln 100
