"""Kafka brokers and topics: replication, durability, retention, the internal topics."""

from __future__ import annotations

from mqlab.lint.rule import CONTRADICTS, COSTS, WEAKENS, Rule
from mqlab.lint.subject import Subject

BROKER, TOPIC = ("kafka broker",), ("kafka topic",)
DOCS = "https://kafka.apache.org/documentation/#brokerconfigs_"
TOPICS = "https://kafka.apache.org/documentation/#topicconfigs_"


def own_file(s: Subject) -> bool:
    return s.pipeline is None


def setting(s: Subject, key: str, brokers_key: str) -> float:
    """A topic's value; its broker's where it has none of its own."""
    if s[key] != "" or s.broker is None:
        return s.number(key)
    return s.broker.number(brokers_key)


def replicas(s: Subject) -> float:
    """Of a topic, or of topics made without a number."""
    return float(s.fact("replication")) if s.kind == "kafka topic" else s.number("default.replication.factor")


def in_sync(s: Subject) -> float:
    return setting(s, "min.insync.replicas", "min.insync.replicas")


def unclean(s: Subject) -> bool:
    if s.kind == "kafka topic" and s["unclean.leader.election.enable"] == "" and s.broker is not None:
        return s.broker.true("unclean.leader.election.enable")
    return s.true("unclean.leader.election.enable")


def never_synced(s: Subject) -> bool:
    messages = setting(s, "flush.messages", "log.flush.interval.messages")
    return messages > 1_000_000


def retention_ms(s: Subject) -> float:
    for key, unit in (("log.retention.ms", 1), ("log.retention.minutes", 60_000)):
        if s.is_set(key):
            return s.number(key) * unit
    return s.number("log.retention.hours") * 3_600_000


def keyless_writer(s: Subject) -> bool:
    return any(w.fact("keys", "") == "none" for w in s.writers)


RULES = (
    Rule("kafka.topic.one-replica", TOPIC, "replication",
         lambda s: replicas(s) == 1 and s.fact("nodes") > 1 and s.may("kill", "power_loss", "pause"), WEAKENS,
         ("loss", "progress"),
         "the cluster has other nodes, but this topic has one copy: it is gone, or away, with one of them",
         "replication = 3", DOCS + "default.replication.factor"),
    Rule("kafka.broker.one-replica-by-default", BROKER, "default.replication.factor",
         lambda s: own_file(s) and replicas(s) == 1, WEAKENS, ("loss", "progress"),
         "topics made without a number have one copy", "default.replication.factor=3",
         DOCS + "default.replication.factor"),
    Rule("kafka.topic.in-sync-of-one", TOPIC, "min.insync.replicas",
         lambda s: replicas(s) > 1 and in_sync(s) <= 1 and s.may("kill", "power_loss", "pause", "partition"),
         WEAKENS, ("loss",),
         "acks=all is content with the leader alone once the others fell behind; when it dies, acknowledged records "
         "are gone",
         "min.insync.replicas = 2", TOPICS + "min.insync.replicas"),
    Rule("kafka.broker.in-sync-of-one-by-default", BROKER, "min.insync.replicas",
         lambda s: own_file(s) and s.number("min.insync.replicas") <= 1, WEAKENS, ("loss",),
         "acks=all is content with the leader alone once the others fell behind",
         "min.insync.replicas=2", DOCS + "min.insync.replicas"),
    Rule("kafka.topic.no-replica-to-spare", TOPIC, "min.insync.replicas",
         lambda s: 1 < replicas(s) == in_sync(s), COSTS, ("progress",),
         "writes with acks=all stop as soon as one replica is away",
         "min.insync.replicas = replication − 1", TOPICS + "min.insync.replicas"),
    Rule("kafka.topic.in-sync-above-replication", TOPIC, "min.insync.replicas",
         lambda s: s.kind == "kafka topic" and s.fact("replication") > 0 and in_sync(s) > replicas(s), CONTRADICTS, (),
         "more in-sync replicas are asked for than there are: the broker silently takes the replication factor",
         "min.insync.replicas = replication − 1", "KAFKA-15583; " + TOPICS + "min.insync.replicas"),
    Rule("kafka.unclean-election", BROKER + TOPIC, "unclean.leader.election.enable",
         lambda s: unclean(s) and (s.kind == "kafka topic" or own_file(s)), WEAKENS, ("loss", "order"),
         "a replica that fell behind may become leader: what it lacks is cut off at the others, with acks=all too",
         "unclean.leader.election.enable=false", "KAFKA-10751; " + TOPICS + "unclean.leader.election.enable"),
    Rule("kafka.topic.not-synced", TOPIC, "flush.messages",
         lambda s: s.pipeline is not None and s.may("power_loss") and never_synced(s), WEAKENS, ("loss",),
         "an acknowledged record is in the page caches of its replicas; when all lose power within seconds, it is gone",
         "flush.messages = 1, or replicas that do not lose power together",
         "https://kafka.apache.org/documentation/#appvsosflush"),
    Rule("kafka.broker.transaction-state-of-one", BROKER, "transaction.state.log.replication.factor",
         lambda s: s.is_set("transaction.state.log.replication.factor")
         and s.number("transaction.state.log.replication.factor") < 3
         and (own_file(s) or s.fact("nodes") >= 3), WEAKENS, ("transactions", "progress"),
         "the state of transactions has fewer copies than the data: with one node transactions stop or are forgotten",
         "transaction.state.log.replication.factor=3", DOCS + "transaction.state.log.replication.factor"),
    Rule("kafka.broker.transaction-state-in-sync-of-one", BROKER, "transaction.state.log.min.isr",
         lambda s: s.is_set("transaction.state.log.min.isr") and s.number("transaction.state.log.min.isr") < 2
         and (own_file(s) or s.fact("nodes") >= 3), WEAKENS, ("transactions",),
         "the decision to commit may be in one log only when it is answered",
         "transaction.state.log.min.isr=2", DOCS + "transaction.state.log.min.isr"),
    Rule("kafka.broker.offsets-of-one", BROKER, "offsets.topic.replication.factor",
         lambda s: s.is_set("offsets.topic.replication.factor") and s.number("offsets.topic.replication.factor") < 3
         and (own_file(s) or s.fact("nodes") >= 3), WEAKENS, ("duplicates", "loss", "progress"),
         "committed offsets have fewer copies than the data: with one node groups stop, or begin anew",
         "offsets.topic.replication.factor=3", DOCS + "offsets.topic.replication.factor"),
    Rule("kafka.broker.offsets-expire-first", BROKER, "offsets.retention.minutes",
         lambda s: s.is_set("offsets.retention.minutes")
         and s.number("offsets.retention.minutes") * 60_000 < retention_ms(s), WEAKENS, ("loss", "duplicates"),
         "a group that rests longer than this forgets where it was while the records are still there: it skips or "
         "repeats them, by auto.offset.reset",
         "offsets.retention.minutes at least as long as the records are kept", "KIP-186; " + DOCS
         + "offsets.retention.minutes"),
    Rule("kafka.broker.topics-by-mistake", BROKER, "auto.create.topics.enable",
         lambda s: own_file(s) and s.true("auto.create.topics.enable"), WEAKENS, ("loss",),
         "a misspelt topic is made, with default replication, and takes the records",
         "auto.create.topics.enable=false", DOCS + "auto.create.topics.enable"),
    Rule("kafka.topic.retention-drops-unread", TOPIC, "retention.ms",
         lambda s: (s.is_set("retention.ms") and s.number("retention.ms") < 3_600_000)
         or (s.is_set("retention.bytes") and s.number("retention.bytes") < 100_000_000), WEAKENS, ("loss",),
         "records go whether or not they were read: a reader that is down for so long, or behind by so much, never "
         "sees them",
         "retention.ms = 604800000, retention.bytes = -1", TOPICS + "retention.ms"),
    Rule("kafka.topic.compaction-drops", TOPIC, "cleanup.policy",
         lambda s: "compact" in s["cleanup.policy"], WEAKENS, ("loss",),
         "of each key only the newest record stays: a reader that comes late never sees the others",
         'cleanup.policy = "delete"', "https://kafka.apache.org/documentation/#compaction"),
    Rule("kafka.topic.compaction-needs-keys", TOPIC, "cleanup.policy",
         lambda s: "compact" in s["cleanup.policy"] and keyless_writer(s), CONTRADICTS, (),
         "a compacted topic refuses records without a key",
         'give the records keys, or cleanup.policy = "delete"', "KIP-135"),
    Rule("kafka.topic.smaller-than-its-messages", TOPIC, "max.message.bytes",
         lambda s: s.is_set("max.message.bytes")
         and any(w.fact("size", 0) + 82 > s.number("max.message.bytes") for w in s.writers), CONTRADICTS, (),
         "the workload's records, with 82 bytes of batch and record header, are larger than the topic takes",
         "max.message.bytes above the largest record", TOPICS + "max.message.bytes"),
    Rule("kafka.broker.session-of-few-heartbeats", BROKER, "broker.session.timeout.ms",
         lambda s: s.ms("broker.session.timeout.ms") < 2 * s.ms("broker.heartbeat.interval.ms"), COSTS,
         ("progress",),
         "one late heartbeat fences a healthy broker, and its partitions move",
         "broker.session.timeout.ms ≥ 4 × broker.heartbeat.interval.ms", DOCS + "broker.session.timeout.ms"),
    Rule("kafka.broker.partitions-not-verified", BROKER, "transaction.partition.verification.enable",
         lambda s: s.is_set("transaction.partition.verification.enable")
         and not s.true("transaction.partition.verification.enable"), WEAKENS, ("transactions", "progress"),
         "a record that arrives after its transaction ended opens a transaction that nobody ends: readers that read "
         "committed stop there",
         "transaction.partition.verification.enable=true", "KIP-890; KAFKA-14402"),
    Rule("kafka.broker.forgets-producers", BROKER, "producer.id.expiration.ms",
         lambda s: s.is_set("producer.id.expiration.ms") and s.ms("producer.id.expiration.ms") < 120_000, WEAKENS,
         ("duplicates",),
         "the broker forgets a producer's last batches before the producer stops retrying (delivery.timeout.ms, "
         "2 min by default): a late retry is stored again",
         "producer.id.expiration.ms=86400000", "KIP-854; " + DOCS + "producer.id.expiration.ms"),
    Rule("kafka.broker.forgets-transactional-ids", BROKER, "transactional.id.expiration.ms",
         lambda s: s.is_set("transactional.id.expiration.ms")
         and s.ms("transactional.id.expiration.ms") < s.ms("transaction.max.timeout.ms"), WEAKENS, ("transactions",),
         "an idle transactional.id is forgotten, and with it the fencing of its earlier instances",
         "transactional.id.expiration.ms=604800000", "KIP-98; " + DOCS + "transactional.id.expiration.ms"),
)  # fmt: skip
