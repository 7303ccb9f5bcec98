"""Kafka producers: acknowledgements, idempotence, retries, transactions."""

from __future__ import annotations

from mqlab.lint.rule import CONTRADICTS, COSTS, WEAKENS, Rule
from mqlab.lint.subject import Subject

ON = ("kafka producer",)
DOCS = "https://kafka.apache.org/documentation/#producerconfigs_"
RDKAFKA = "https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md"
MOST_IN_FLIGHT = 5  # with idempotence: the broker remembers five batches a producer


def java(s: Subject) -> bool:
    return s.flavour == "java"


def all_acks(s: Subject) -> bool:
    return s["acks"] in ("all", "-1")


def in_flight(s: Subject) -> float:
    return s.number("max.in.flight.requests.per.connection" if java(s) else "max.in.flight")


def transactional(s: Subject) -> bool:
    return s["transactional.id"] != ""


def idempotent(s: Subject) -> bool:
    """As the client decides it. [kafka: ProducerConfig; librdkafka: rdkafka_conf.c]"""
    if not java(s):
        return s.true("enable.idempotence") or transactional(s)
    wanted = s.true("enable.idempotence") and all_acks(s) and s.number("retries") != 0
    return wanted and in_flight(s) <= MOST_IN_FLIGHT


def silently_off(s: Subject) -> bool:
    return java(s) and not s.is_set("enable.idempotence") and not idempotent(s)


def delivery_floor(s: Subject) -> float:
    return s.ms("linger.ms") + (s.ms("request.timeout.ms") if java(s) else 0)


def failover_ms(s: Subject) -> float:
    """How long a dead leader is waited for: the controller's session for a broker, as it is set."""
    return s.broker.ms("broker.session.timeout.ms") if s.broker is not None else 9000


def ordered(s: Subject) -> bool:
    return s["queuing.strategy"] == "lifo"


def keyed_elsewhere(s: Subject) -> bool:
    if java(s):
        scattered = "RoundRobinPartitioner" in s["partitioner.class"]
        return scattered or s.true("partitioner.ignore.keys")
    return s["partitioner"] == "random"


RULES = (
    Rule("kafka.producer.acks-0", ON, "acks", lambda s: s["acks"] == "0", WEAKENS, ("loss",),
         "success is reported before any broker has the record, and broker errors are never retried",
         "acks=all", DOCS + "acks"),
    Rule("kafka.producer.acks-1", ON, "acks", lambda s: s["acks"] == "1", WEAKENS, ("loss",),
         "an acknowledged record is in the leader's log only; when that leader dies, the next one does not have it",
         "acks=all", DOCS + "acks"),
    Rule("kafka.producer.not-idempotent", ON, "enable.idempotence",
         lambda s: not idempotent(s) and not silently_off(s) and s.number("retries") != 0, WEAKENS, ("duplicates",),
         "a retry after a lost answer stores the record again: the broker cannot tell it from a new one",
         "enable.idempotence=true", "KIP-98; " + DOCS + "enable.idempotence"),
    Rule("kafka.producer.retries-reorder", ON, "max.in.flight.requests.per.connection",
         lambda s: java(s) and not idempotent(s) and in_flight(s) > 1 and s.number("retries") != 0,
         WEAKENS, ("order",),
         "a batch that is retried is stored behind one that was in flight beside it",
         "enable.idempotence=true, or max.in.flight.requests.per.connection=1",
         DOCS + "max.in.flight.requests.per.connection"),
    Rule("kafka.producer.idempotence-silently-off", ON, "acks" , silently_off, WEAKENS, ("duplicates", "order"),
         "idempotence is on by default, but acks, retries or max.in.flight.requests.per.connection turn it off "
         "without an error",
         "enable.idempotence=true (then the client refuses what contradicts it)", DOCS + "enable.idempotence"),
    Rule("kafka.producer.idempotence-needs-acks-all", ON, "acks",
         lambda s: s.is_set("enable.idempotence") and s.true("enable.idempotence") and not all_acks(s),
         CONTRADICTS, (), "the client refuses enable.idempotence=true with acks other than all",
         "acks=all", DOCS + "enable.idempotence"),
    Rule("kafka.producer.idempotence-needs-retries", ON, "retries",
         lambda s: s.is_set("enable.idempotence") and s.true("enable.idempotence") and s.number("retries") == 0,
         CONTRADICTS, (), "the client refuses enable.idempotence=true with retries=0",
         "leave retries at its default", DOCS + "enable.idempotence"),
    Rule("kafka.producer.idempotence-in-flight", ON, "max.in.flight.requests.per.connection",
         lambda s: s.is_set("enable.idempotence") and s.true("enable.idempotence") and in_flight(s) > MOST_IN_FLIGHT
         and (java(s) or s.is_set("max.in.flight")),
         CONTRADICTS, (), "the client refuses idempotence with more than 5 requests in flight: the broker remembers "
         "5 batches of a producer",
         "max.in.flight.requests.per.connection=5", DOCS + "max.in.flight.requests.per.connection"),
    Rule("kafka.producer.transactions-need-idempotence", ON, "enable.idempotence",
         lambda s: transactional(s) and s.is_set("enable.idempotence") and not s.true("enable.idempotence"),
         CONTRADICTS, (), "the client refuses a transactional.id without idempotence",
         "enable.idempotence=true", "KIP-98; " + DOCS + "transactional.id"),
    Rule("kafka.producer.gapless-needs-idempotence", ON, "enable.gapless.guarantee",
         lambda s: s.true("enable.gapless.guarantee") and not idempotent(s),
         CONTRADICTS, (), "enable.gapless.guarantee needs idempotence", "enable.idempotence=true", RDKAFKA),
    Rule("kafka.producer.no-retries", ON, "retries",
         lambda s: s.is_set("retries") and s.number("retries") == 0, WEAKENS, ("loss", "progress"),
         "any change of leader makes sends fail: what the application does not send again is lost",
         "leave retries at its default and bound the time with delivery.timeout.ms", DOCS + "retries"),
    Rule("kafka.producer.delivery-timeout-too-short", ON, "delivery.timeout.ms",
         lambda s: s.is_set("delivery.timeout.ms") and s.ms("delivery.timeout.ms") < delivery_floor(s),
         CONTRADICTS, (), "the client refuses a delivery.timeout.ms below linger.ms + request.timeout.ms "
         "(librdkafka: below linger.ms)",
         "delivery.timeout.ms ≥ linger.ms + request.timeout.ms", DOCS + "delivery.timeout.ms"),
    Rule("kafka.producer.delivery-timeout-below-failover", ON, "delivery.timeout.ms",
         lambda s: s.is_set("delivery.timeout.ms") and delivery_floor(s) <= s.ms("delivery.timeout.ms")
         <= failover_ms(s) and s.may("kill", "pause", "power_loss", "partition"), WEAKENS,
         ("duplicates", "progress"),
         "records fail before a dead leader is replaced, their fate unknown: sent again by the application they "
         "may be there twice",
         "delivery.timeout.ms well above broker.session.timeout.ms", DOCS + "delivery.timeout.ms"),
    Rule("kafka.producer.request-timeout-below-replica-lag", ON, "request.timeout.ms",
         lambda s: not idempotent(s) and s.is_set("request.timeout.ms") and s.ms("request.timeout.ms")
         <= (s.broker.ms("replica.lag.time.max.ms") if s.broker is not None else 30000) and s.number("retries") != 0,
         WEAKENS, ("duplicates",),
         "a slow follower holds the answer longer than the client waits: it sends again what is stored",
         "request.timeout.ms > replica.lag.time.max.ms, or enable.idempotence=true", DOCS + "request.timeout.ms"),
    Rule("kafka.producer.larger-than-the-broker-takes", ON, "max.request.size",
         lambda s: java(s) and s.broker is not None and s.is_set("max.request.size")
         and s.number("max.request.size") > s.broker.number("message.max.bytes"), CONTRADICTS, ("loss", "progress"),
         "records between the two limits pass the client and are refused by the broker",
         "message.max.bytes ≥ max.request.size on the broker (max.message.bytes on the topic)",
         DOCS + "max.request.size"),
    Rule("kafka.producer.keys-do-not-place", ON, "partitioner", keyed_elsewhere, WEAKENS, ("order",),
         "the partition does not depend on the key: records of one key lie in several partitions, without an order",
         "the default partitioner (librdkafka: murmur2_random)", DOCS + "partitioner.class"),
    Rule("kafka.producer.partitioner-unlike-java", ON, "partitioner",
         lambda s: not java(s) and s.pipeline is None and not s["partitioner"].startswith("murmur2")
         and s["partitioner"] != "random", WEAKENS, ("order",),
         "librdkafka places keys by CRC-32 and the Java client by murmur2: of two writers of one topic each puts a "
         "key elsewhere, and joins do not meet",
         "partitioner=murmur2_random", RDKAFKA),
    Rule("kafka.producer.last-in-first-out", ON, "queuing.strategy", ordered, WEAKENS, ("order",),
         "the newest message is sent first", "queuing.strategy=fifo", RDKAFKA),
    Rule("kafka.producer.shared-transactional-id", ON, "transactional.id",
         lambda s: transactional(s) and s.fact("instances", 1) > 1 and "{instance}" not in s["transactional.id"],
         WEAKENS, ("transactions", "progress"),
         "two instances with one transactional.id fence each other: each start aborts the other's transaction",
         'transactional.id="NAME-{instance}"', "KIP-98; " + DOCS + "transactional.id"),
    Rule("kafka.producer.transaction-timeout-over-the-brokers", ON, "transaction.timeout.ms",
         lambda s: transactional(s) and s.ms("transaction.timeout.ms")
         > (s.broker.ms("transaction.max.timeout.ms") if s.broker is not None else 900_000), CONTRADICTS, (),
         "the coordinator refuses the producer with INVALID_TRANSACTION_TIMEOUT",
         "transaction.timeout.ms ≤ transaction.max.timeout.ms (15 min by default)", DOCS + "transaction.timeout.ms"),
    Rule("kafka.producer.transaction-timeout-below-work", ON, "transaction.timeout.ms",
         lambda s: transactional(s) and s.stage is not None
         and s.ms("transaction.timeout.ms") < s.stage.number("batch") * s.fact("work_ms"),
         COSTS, ("progress", "transactions"),
         "the coordinator aborts and fences the transaction while its batch is still worked on, again and again",
         "transaction.timeout.ms above batch × service_time", DOCS + "transaction.timeout.ms"),
    Rule("kafka.producer.transactions-that-never-time-out", ON, "transaction.two.phase.commit.enable",
         lambda s: s.true("transaction.two.phase.commit.enable"), COSTS, ("progress", "transactions"),
         "a producer that dies leaves its transaction open for ever; readers that read committed stop there",
         "transaction.two.phase.commit.enable=false, or a coordinator that ends what it prepared", "KIP-939"),
    Rule("kafka.producer.first-transaction-protocol", ON, "transactional.id",
         lambda s: transactional(s) and not java(s) and s.pipeline is not None and s.may("delay", "drop_response"),
         WEAKENS, ("transactions",),
         "librdkafka keeps the epoch from one transaction to the next: a commit request that arrives late acts on "
         "the transaction that is open by then",
         'client.flavour="java" with brokers from 4.0',
         "KIP-890; https://jepsen.io/analyses/bufstream-0.1.0; confluentinc/librdkafka#5423"),
    Rule("kafka.producer.full-buffer-fails-at-once", ON, "max.block.ms",
         lambda s: java(s) and s.is_set("max.block.ms") and s.ms("max.block.ms") == 0, WEAKENS, ("loss", "progress"),
         "send() fails while metadata is missing or the buffer is full, at every start and failover",
         "max.block.ms=60000", DOCS + "max.block.ms"),
    Rule("kafka.producer.frozen-leader-holds", ON, "socket.timeout.ms",
         lambda s: not java(s) and s.pipeline is not None and s.may("pause", "partition")
         and s.ms("socket.timeout.ms") >= 60_000 and not transactional(s), COSTS, ("progress",),
         "a leader that stops without closing its connections holds requests for the whole socket.timeout.ms",
         "socket.timeout.ms=2000, or as long as you can wait", RDKAFKA),
)  # fmt: skip
