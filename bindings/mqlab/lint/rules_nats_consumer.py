"""NATS consumers: acknowledgements, redelivery, order."""

from __future__ import annotations

from mqlab import _core
from mqlab.lint.rule import CONTRADICTS, COSTS, WEAKENS, Rule
from mqlab.lint.subject import Subject

ON = ("nats consumer",)
DOCS = "https://docs.nats.io/nats-concepts/jetstream/consumers"


def acknowledges(s: Subject) -> bool:
    return not s.true("ordered") and s["ack_policy"] != "none"


def backoff(s: Subject) -> list[float]:
    """Milliseconds."""
    waits = [_core.nanoseconds(part.strip()) for part in s["backoff"].split(",") if part.strip()]
    return [wait / 1e6 for wait in waits if wait is not None]


def beats(s: Subject) -> float:
    """How often the stage says that it is still at work; ∞: never."""
    if s.stage is None or not s.stage.is_set("in_progress"):
        return float("inf")
    return s.stage.ms("in_progress")


def handled_late(s: Subject) -> bool:
    """One message takes longer than its acknowledgement is waited for."""
    return acknowledges(s) and not backoff(s) and s.ms("ack_wait") <= min(s.fact("work_ms"), beats(s))


def batch_waits(s: Subject) -> bool:
    whole = s.number("batch") * s.fact("work_ms")
    return acknowledges(s) and s.number("batch") > 1 and s.fact("work_ms") < s.ms("ack_wait") < whole


def limits_deliveries(s: Subject) -> bool:
    return s.is_set("max_deliver") and 0 < s.number("max_deliver") < float("inf")


def work_queue(s: Subject) -> bool:
    return any(t["retention"] == "workqueue" for t in s.topics)


def copies(s: Subject) -> bool:
    stream = max((t.fact("replication", 1) for t in s.topics), default=0)
    return 0 < s.number("num_replicas") < stream


RULES = (
    Rule("nats.consumer.ack-wait-below-work", ON, "ack_wait", handled_late, WEAKENS, ("duplicates",),
         "work that takes longer than ack_wait is given to another worker while the first is still at it",
         "ack_wait above service_time, or in_progress shorter than ack_wait", DOCS),
    Rule("nats.consumer.progress-comes-late", ON, "ack_wait",
         lambda s: acknowledges(s) and s.ms("ack_wait") <= beats(s) < s.fact("work_ms"), CONTRADICTS,
         ("duplicates",),
         "the first word that work goes on comes after ack_wait is over",
         "in_progress at most half of ack_wait", DOCS),
    Rule("nats.consumer.batch-waits-too-long", ON, "batch", batch_waits, WEAKENS, ("duplicates",),
         "ack_wait runs from delivery: the last of a batch waits behind the others until it is delivered again",
         "ack_wait above batch × service_time", DOCS),
    Rule("nats.consumer.backoff-replaces-ack-wait", ON, "backoff",
         lambda s: bool(backoff(s)) and (s.is_set("ack_wait") or backoff(s)[0] < s.fact("work_ms")), WEAKENS,
         ("duplicates",),
         "the first value of backoff takes the place of ack_wait, also while the first worker is still at it",
         "a first backoff value above service_time", DOCS),
    Rule("nats.consumer.more-backoff-than-deliveries", ON, "max_deliver",
         lambda s: limits_deliveries(s) and len(backoff(s)) > s.number("max_deliver"), CONTRADICTS, (),
         "the server refuses more backoff values than deliveries", "max_deliver ≥ the number of backoff values", DOCS),
    Rule("nats.consumer.acknowledges-nothing", ON, "ack_policy",
         lambda s: s["ack_policy"] == "none" and not s.true("ordered")
         and s.may("kill", "pause", "restart"), WEAKENS, ("loss",),
         "delivered is done: what a worker had in hand when it died is never delivered again",
         'ack_policy = "explicit"', DOCS),
    Rule("nats.consumer.acknowledges-for-others", ON, "ack_policy",
         lambda s: s["ack_policy"] == "all" and s.fact("instances", 2) > 1, WEAKENS, ("loss",),
         "an acknowledgement counts for all earlier messages, also those that other workers are still at",
         'ack_policy = "explicit"', DOCS),
    Rule("nats.consumer.gives-up-silently", ON, "max_deliver",
         lambda s: limits_deliveries(s) and not work_queue(s), WEAKENS, ("loss",),
         "after max_deliver deliveries a message is skipped; only an advisory tells",
         "max_deliver = -1, or somebody who listens for the advisory", "nats-io/nats-server#7817; " + DOCS),
    Rule("nats.consumer.stuck-in-the-work-queue", ON, "max_deliver",
         lambda s: limits_deliveries(s) and work_queue(s), WEAKENS, ("loss",),
         "after max_deliver deliveries a work queue keeps the message, and nobody gets it",
         "max_deliver = -1, or somebody who listens for the advisory and removes it", "nats-io/nats-server#7817"),
    Rule("nats.consumer.redelivery-reorders", ON, "max_ack_pending",
         lambda s: acknowledges(s) and s.number("max_ack_pending") != 1
         and (s.pipeline is None or s.may("kill", "pause") or handled_late(s)), WEAKENS, ("order",),
         "a message that is delivered again comes after later ones",
         "max_ack_pending = 1, or an ordered consumer", DOCS),
    Rule("nats.consumer.remembers-nothing", ON, "durable",
         lambda s: s.pipeline is None and not s.is_set("durable") and not s.true("ordered"), WEAKENS,
         ("loss", "duplicates"),
         "a consumer without a durable name goes when its clients are away, and its position with it",
         "durable_name", DOCS),
    Rule("nats.consumer.durable-that-goes", ON, "inactive_threshold",
         lambda s: s.is_set("inactive_threshold") and s.is_set("durable") and s.ms("inactive_threshold") > 0, WEAKENS,
         ("loss", "duplicates"),
         "the durable consumer is removed, with its position, when no client is there for so long",
         "no inactive_threshold", DOCS),
    Rule("nats.consumer.skips-what-is-there", ON, "deliver_policy",
         lambda s: s["deliver_policy"] in ("new", "last", "last_per_subject") and not s.fact("observer", False),
         WEAKENS, ("loss",),
         "what was published before the consumer was made is never delivered",
         'deliver_policy = "all"', DOCS),
    Rule("nats.consumer.acks-unanswered", ON, "ack_sync",
         lambda s: s.pipeline is not None and s.stage is not None and acknowledges(s) and not s.true("ack_sync")
         and "kill" in s.pipeline.menu and any("nats" in t for t in s.pipeline.document["faults"]["targets"]),
         WEAKENS, ("duplicates",),
         "an acknowledgement that is lost with its server is not noticed: the message is delivered again",
         "ack_sync = true", "nats-io/nats-server#6036; " + DOCS),
    Rule("nats.consumer.state-in-memory", ON, "mem_storage",
         lambda s: s.true("mem_storage") and s.may("kill", "restart", "power_loss"), WEAKENS, ("duplicates",),
         "what was acknowledged is forgotten when the server ends, and delivered again",
         "mem_storage = false", "nats-io/nats-server#6036; " + DOCS),
    Rule("nats.consumer.fewer-copies-than-the-stream", ON, "num_replicas", copies, WEAKENS, ("duplicates", "progress"),
         "the stream outlives a server that its consumer does not", "num_replicas = 0, as the stream", DOCS),
    Rule("nats.consumer.everyone-gets-everything", ON, "ordered",
         lambda s: s.true("ordered") and s.fact("instances", 1) > 1, WEAKENS, ("duplicates",),
         "an ordered consumer shares no work: each instance gets every message",
         "one instance, or a durable consumer", "ADR-17"),
    Rule("nats.consumer.replays-at-first-speed", ON, "replay_policy",
         lambda s: s["replay_policy"] == "original", COSTS, ("progress",),
         "the backlog comes as slowly as it was published", 'replay_policy = "instant"', DOCS),
)  # fmt: skip
