"""Kafka consumers: commits, groups, what they read."""

from __future__ import annotations

from mqlab.lint.rule import CONTRADICTS, COSTS, WEAKENS, Rule
from mqlab.lint.rules_kafka_producer import java, transactional
from mqlab.lint.subject import Subject

ON = ("kafka consumer",)
DOCS = "https://kafka.apache.org/documentation/#consumerconfigs_"
RDKAFKA = "https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md"


def auto_commits(s: Subject) -> bool:
    """Whether the client library commits by itself: a module that commits takes that over."""
    if not s.true("enable.auto.commit") or s.fact("observer", False):
        return False
    return s.stage is None or s.stage["commit"] == "auto"


def work_between_polls(s: Subject) -> float:
    records = s.number("max.poll.records") if java(s) else 1
    if s.stage is not None and s.stage.is_set("batch"):
        records = max(1, min(records, s.stage.number("batch"))) if java(s) else s.stage.number("batch")
    return float(records * s.fact("work_ms"))


def of_transactions(s: Subject) -> bool:
    return any(transactional(writer) for topic in s.topics for writer in topic.writers)


def new_protocol(s: Subject) -> bool:
    return s["group.protocol"].lower() == "consumer"


def session(s: Subject, limit: str, default: float) -> float:
    return s.broker.ms(limit) if s.broker is not None else default


RULES = (
    Rule("kafka.consumer.auto-commit-loses", ON, "enable.auto.offset.store",
         lambda s: auto_commits(s) and not java(s) and s.true("enable.auto.offset.store"), WEAKENS,
         ("loss", "commits"),
         "the offset is stored when the message is handed over and committed in the background: a process that dies "
         "while it works on it never gets it again",
         "enable.auto.offset.store=false and store the offset after the work", RDKAFKA),
    Rule("kafka.consumer.auto-commit-repeats", ON, "enable.auto.commit",
         auto_commits, WEAKENS, ("duplicates",),
         "what was handled since the last automatic commit is handled again after a crash",
         "a transactional stage, or a sink that drops repeats; enable.auto.commit=false with a commit per message "
         "makes it rarer", DOCS + "enable.auto.commit"),
    Rule("kafka.consumer.auto-commit-before-work", ON, "enable.auto.commit",
         lambda s: auto_commits(s) and java(s) and s.pipeline is None, WEAKENS, ("loss", "commits"),
         "each poll commits what the poll before returned: work handed to other threads may be committed undone",
         "enable.auto.commit=false and commit after the work",
         "https://kafka.apache.org/documentation/#semantics"),
    Rule("kafka.consumer.reset-latest", ON, "auto.offset.reset",
         lambda s: s["auto.offset.reset"] in ("latest", "largest", "end") and not (s.fact("observer", False)),
         WEAKENS, ("loss",),
         "without a committed offset (a new group, a new partition, an expired offset) it begins at the end and "
         "skips what is there",
         "auto.offset.reset=earliest", "KAFKA-20539; apache/pinot#19359; " + DOCS + "auto.offset.reset"),
    Rule("kafka.consumer.reads-uncommitted", ON, "isolation.level",
         lambda s: s["isolation.level"] == "read_uncommitted" and of_transactions(s), WEAKENS,
         ("transactions", "duplicates", "phantoms"),
         "the topic is written in transactions, and this reader sees records before their commit and of aborted ones",
         "isolation.level=read_committed", "KIP-98; " + DOCS + "isolation.level"),
    Rule("kafka.consumer.commits-outside-the-transaction", ON, "enable.auto.commit",
         lambda s: s.stage is not None and s.fact("module", "") == "transactional-stage"
         and s.is_set("enable.auto.commit") and s.true("enable.auto.commit"), WEAKENS,
         ("transactions", "loss"),
         "automatic commits are not part of the transaction: an aborted batch may be committed and skipped",
         "enable.auto.commit=false", "KIP-98"),
    Rule("kafka.consumer.poll-interval-below-work", ON, "max.poll.interval.ms",
         lambda s: s.ms("max.poll.interval.ms") < work_between_polls(s), WEAKENS, ("duplicates", "progress"),
         "the member leaves its group while it works; the partition goes to another, the commit fails, the work is "
         "done again, for ever",
         "max.poll.interval.ms above max.poll.records × service_time", "aio-libs/aiokafka#848; " + DOCS
         + "max.poll.interval.ms"),
    Rule("kafka.consumer.heartbeat-not-below-session", ON, "heartbeat.interval.ms",
         lambda s: s.ms("heartbeat.interval.ms") >= s.ms("session.timeout.ms"), CONTRADICTS, (),
         "a member that beats no faster than its session ends is thrown out; the Java client refuses it",
         "heartbeat.interval.ms = session.timeout.ms / 3", DOCS + "heartbeat.interval.ms"),
    Rule("kafka.consumer.few-heartbeats", ON, "heartbeat.interval.ms",
         lambda s: s.ms("session.timeout.ms") / 3 < s.ms("heartbeat.interval.ms") < s.ms("session.timeout.ms"),
         COSTS, ("progress", "duplicates"),
         "one late heartbeat ends the session: the group rebalances and work is repeated",
         "heartbeat.interval.ms ≤ session.timeout.ms / 3", DOCS + "heartbeat.interval.ms"),
    Rule("kafka.consumer.session-below-the-brokers-least", ON, "session.timeout.ms",
         lambda s: not new_protocol(s)
         and s.ms("session.timeout.ms") < session(s, "group.min.session.timeout.ms", 6000),
         CONTRADICTS, (), "the coordinator refuses the member with INVALID_SESSION_TIMEOUT",
         "session.timeout.ms ≥ group.min.session.timeout.ms of the broker (6000 by default)",
         DOCS + "session.timeout.ms"),
    Rule("kafka.consumer.session-above-the-brokers-most", ON, "session.timeout.ms",
         lambda s: not new_protocol(s)
         and s.ms("session.timeout.ms") > session(s, "group.max.session.timeout.ms", 1_800_000),
         CONTRADICTS, (), "the coordinator refuses the member with INVALID_SESSION_TIMEOUT",
         "session.timeout.ms ≤ group.max.session.timeout.ms of the broker (30 min by default)",
         DOCS + "session.timeout.ms"),
    Rule("kafka.consumer.poll-interval-below-session", ON, "max.poll.interval.ms",
         lambda s: not java(s) and s.ms("max.poll.interval.ms") < s.ms("session.timeout.ms"), CONTRADICTS, (),
         "librdkafka refuses a max.poll.interval.ms below session.timeout.ms",
         "max.poll.interval.ms ≥ session.timeout.ms", RDKAFKA),
    Rule("kafka.consumer.settings-of-the-classic-protocol", ON, "group.protocol",
         lambda s: new_protocol(s) and any(s.is_set(key) for key in (
             "session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")), CONTRADICTS, (),
         "with group.protocol=consumer the broker decides sessions, heartbeats and assignment: the client refuses "
         "its own settings for them",
         "remove session.timeout.ms, heartbeat.interval.ms and partition.assignment.strategy; "
         "set group.consumer.* on the broker", "KIP-848"),
    Rule("kafka.consumer.shared-member-id", ON, "group.instance.id",
         lambda s: s.is_set("group.instance.id") and s.fact("instances", 1) > 1
         and "{instance}" not in s["group.instance.id"], WEAKENS, ("progress", "duplicates"),
         "two members with one group.instance.id fence each other",
         'group.instance.id="NAME-{instance}"', "KIP-345"),
    Rule("kafka.consumer.static-member-holds", ON, "group.instance.id",
         lambda s: s.is_set("group.instance.id") and s.ms("session.timeout.ms") >= 45_000
         and s.may("kill", "restart"), COSTS, ("progress",),
         "the partitions of a static member that died are read by nobody until its session ends",
         "session.timeout.ms as short as a restart takes", "KIP-345"),
    Rule("kafka.consumer.more-members-than-partitions", ON, "group.id",
         lambda s: s.stage is not None and bool(s.topics)
         and s.fact("instances", 1) > sum(t.fact("partitions", 1) for t in s.topics), COSTS, ("progress",),
         "each partition has one reader of a group: the other instances have nothing to do",
         "at least as many partitions as instances", "https://kafka.apache.org/documentation/#intro_consumers"),
    Rule("kafka.consumer.stops-the-group", ON, "partition.assignment.strategy",
         lambda s: s.pipeline is None and s.is_set("partition.assignment.strategy")
         and "cooperative" not in s["partition.assignment.strategy"].lower(), COSTS, ("progress",),
         "at each rebalance all members give up all partitions and wait",
         "partition.assignment.strategy=cooperative-sticky", "KIP-429"),
    Rule("kafka.consumer.unchecked-records", ON, "check.crcs",
         lambda s: s.is_set("check.crcs") and not s.true("check.crcs"), WEAKENS, ("phantoms",),
         "records that were damaged on the way or on disk are handed over", "check.crcs=true", DOCS + "check.crcs"),
    Rule("kafka.consumer.makes-topics-by-reading", ON, "allow.auto.create.topics",
         lambda s: s.pipeline is None and s.is_set("allow.auto.create.topics")
         and s.true("allow.auto.create.topics"), WEAKENS, ("loss",),
         "a misspelt subscription makes a topic, with the broker's default replication, and waits there for ever",
         "allow.auto.create.topics=false", "KIP-361"),
    Rule("kafka.consumer.answers-larger-than-taken", ON, "receive.message.max.bytes",
         lambda s: not java(s) and s.is_set("receive.message.max.bytes")
         and s.number("receive.message.max.bytes") < s.number("fetch.max.bytes") + 512, CONTRADICTS, (),
         "librdkafka refuses a receive.message.max.bytes below fetch.max.bytes + 512: answers would not fit",
         "receive.message.max.bytes ≥ fetch.max.bytes + 512", RDKAFKA),
    Rule("kafka.consumer.waits-for-bytes", ON, "fetch.min.bytes",
         lambda s: s.number("fetch.min.bytes") > 1
         and s.ms("fetch.max.wait.ms" if java(s) else "fetch.wait.max.ms") >= 500, COSTS, ("progress",),
         "a quiet topic's messages wait at the broker until the wait is over",
         "fetch.min.bytes=1, or a shorter wait", DOCS + "fetch.min.bytes"),
)  # fmt: skip
