"""NATS servers and streams: what is on disk when it is acknowledged, limits, repeats."""

from __future__ import annotations

from mqlab.lint.rule import CONTRADICTS, COSTS, WEAKENS, Rule
from mqlab.lint.subject import Subject

SERVER, STREAM, PRODUCER = ("nats server",), ("nats stream",), ("nats producer",)
STREAMS = "https://docs.nats.io/nats-concepts/jetstream/streams"
CONFIG = "https://docs.nats.io/running-a-nats-service/configuration#jetstream"
MIB = 1 << 20


def limited(s: Subject) -> bool:
    limits = ("max_msgs", "max_bytes", "max_msgs_per_subject")
    return any(0 < s.number(key) < float("inf") for key in limits) or 0 < s.ms("max_age") < float("inf")


def forgets_when_handled(s: Subject) -> bool:
    return s["retention"] in ("workqueue", "interest")


def resend_ms(s: Subject) -> float:
    """The latest moment at which a publish may come again by itself."""
    return s.ms("ack_timeout") + s.number("retry_attempts") * s.ms("retry_wait")


def window(s: Subject) -> float:
    return min((t.ms("duplicate_window") for t in s.topics), default=120_000)


def read_by_durables(s: Subject) -> bool:
    return any(r.stage is not None for r in s.readers)


RULES = (
    Rule("nats.server.not-synced", SERVER, "sync_interval",
         lambda s: s["sync_interval"] != "always" and s.may("power_loss"), WEAKENS, ("loss",),
         "publishes are acknowledged from the page cache and synced up to two minutes later: a power failure loses "
         "what was acknowledged",
         "sync_interval: always", "https://jepsen.io/analyses/nats-2.12.1; nats-io/nats-server#7564; " + CONFIG),
    Rule("nats.server.temporary-store", SERVER, "store_dir",
         lambda s: s.is_set("jetstream") and (s["store_dir"].startswith("/tmp") or s["store_dir"] == ""), WEAKENS,
         ("loss",),
         "streams lie in the folder for temporary files, which the system empties at a reboot",
         "store_dir: /var/lib/nats", CONFIG),
    Rule("nats.server.even-cluster", SERVER, "nodes",
         lambda s: s.fact("nodes", 1) in (2, 4, 6, 8), COSTS, ("progress",),
         "an even number of servers bears no more losses than one less, and two bear none",
         "3 or 5 servers", "https://docs.nats.io/running-a-nats-service/configuration/clustering/jetstream_clustering"),
    Rule("nats.server.huge-payloads", SERVER, "max_payload",
         lambda s: s.number("max_payload") > 8 * MIB, COSTS, ("progress",),
         "payloads above 8 MiB hold up everything behind them; the server itself advises against them",
         "max_payload: 1MB, and larger things in an object store",
         "https://docs.nats.io/reference/faq#is-there-a-message-size-limitation-in-nats"),
    Rule("nats.server.lost-quietly", SERVER, "max_payload",
         lambda s: s.is_set("max_payload") and any(w > s.number("max_payload") for w in s.fact("sizes", ())),
         CONTRADICTS, (),
         "the workload's messages are larger than the server takes: it closes the connection",
         "max_payload above the largest message", CONFIG),
    Rule("nats.stream.in-memory", STREAM, "storage",
         lambda s: s["storage"] == "memory" and s.may("kill", "restart", "power_loss"), WEAKENS, ("loss",),
         "the stream is gone when its servers end", 'storage = "file"', STREAMS),
    Rule("nats.stream.one-replica", STREAM, "replicas",
         lambda s: s.fact("replication") == 1 and (s.pipeline is None or s.fact("nodes") > 1)
         and s.may("kill", "power_loss", "pause"), WEAKENS, ("loss", "progress"),
         "the stream has one copy, on one server of the cluster", "replicas = 3", STREAMS),
    Rule("nats.stream.even-replicas", STREAM, "replicas",
         lambda s: s.fact("replication") in (2, 4), COSTS, ("progress",),
         "two copies bear no loss at all (a majority of two is two), four no more than three",
         "replicas = 3", STREAMS),
    Rule("nats.stream.drops-the-oldest", STREAM, "discard",
         lambda s: limited(s) and s["discard"] == "old", WEAKENS, ("loss",),
         "at its limit the stream drops the oldest messages, read or not, without an error to anyone",
         'discard = "new" (the publisher is told), or no limit', STREAMS),
    Rule("nats.stream.no-limit-to-refuse-at", STREAM, "discard_new_per_subject",
         lambda s: s.true("discard_new_per_subject")
         and (s["discard"] != "new" or s.number("max_msgs_per_subject") == float("inf")), CONTRADICTS, (),
         'the server refuses discard_new_per_subject without discard = "new" and max_msgs_per_subject',
         'discard = "new" and max_msgs_per_subject = N', STREAMS),
    Rule("nats.stream.short-memory-for-repeats", PRODUCER, "ack_timeout",
         lambda s: s.true("msg_id") and bool(s.topics) and window(s) < resend_ms(s), WEAKENS, ("duplicates",),
         "a publish may come again after the stream forgot its Nats-Msg-Id: it is stored twice",
         "duplicate_window above ack_timeout + retry_attempts × retry_wait",
         "https://docs.nats.io/using-nats/developer/develop_jetstream/model_deep_dive#message-deduplication"),
    Rule("nats.stream.window-above-age", STREAM, "duplicate_window",
         lambda s: s.is_set("duplicate_window") and 0 < s.ms("max_age") < s.ms("duplicate_window"), CONTRADICTS, (),
         "the server refuses a duplicate_window longer than messages live",
         "duplicate_window ≤ max_age", STREAMS),
    Rule("nats.stream.tiny-window", STREAM, "duplicate_window",
         lambda s: s.is_set("duplicate_window") and 0 < s.ms("duplicate_window") < 5000 and s.pipeline is None,
         WEAKENS, ("duplicates",),
         "repeats that come later than this are stored again: clients wait 5 s for an answer before they resend",
         'duplicate_window = "2m"', STREAMS),
    Rule("nats.stream.answers-nothing", STREAM, "no_ack", lambda s: s.true("no_ack"), WEAKENS, ("loss",),
         "publishes are never acknowledged: nobody learns what is stored", "no_ack = false", STREAMS),
    Rule("nats.stream.acknowledged-before-written", STREAM, "persist_mode",
         lambda s: s["persist_mode"] == "async" and s.may("kill", "power_loss", "restart"), WEAKENS, ("loss",),
         "a publish is acknowledged before it is even in the page cache: a killed server loses it",
         'persist_mode = "default"', "https://github.com/nats-io/nats-server/releases/tag/v2.12.0"),
    Rule("nats.stream.interest-of-nobody", STREAM, "retention",
         lambda s: s["retention"] == "interest" and (s.pipeline is None or not read_by_durables(s)), WEAKENS,
         ("loss",),
         "messages that come while no consumer exists are dropped at once, though acknowledged",
         'consumers that are made before the first message, or retention = "limits"', STREAMS),
    Rule("nats.stream.forgets-ids-of-handled", STREAM, "retention",
         lambda s: forgets_when_handled(s) and s.may("kill", "restart", "power_loss"), WEAKENS, ("duplicates",),
         "after a restart the ids for repeats are read from what is still stored: a message that was handled and "
         "removed can come again and be stored again",
         'retention = "limits" with max_age above the time in which publishers resend',
         "https://docs.nats.io/using-nats/developer/develop_jetstream/model_deep_dive#message-deduplication"),
    Rule("nats.stream.can-be-rolled-up", STREAM, "allow_rollup_hdrs",
         lambda s: s.true("allow_rollup_hdrs"), WEAKENS, ("loss",),
         "any publisher can remove all earlier messages of a subject, or of the stream, with one header",
         "allow_rollup_hdrs = false", STREAMS),
    Rule("nats.stream.smaller-than-its-messages", STREAM, "max_msg_size",
         lambda s: any(w.fact("size", 0) > s.number("max_msg_size") > 0 for w in s.writers), CONTRADICTS, (),
         "the workload's messages are larger than the stream takes: every publish fails",
         "max_msg_size above the largest message", STREAMS),
    Rule("nats.producer.no-ids", PRODUCER, "msg_id", lambda s: not s.true("msg_id"), WEAKENS, ("duplicates",),
         "a publish that is sent again after a lost answer is stored again: without Nats-Msg-Id the stream cannot "
         "tell", "msg_id = true",
         "https://docs.nats.io/using-nats/developer/develop_jetstream/model_deep_dive#message-deduplication"),
    Rule("nats.producer.gives-up-at-once", PRODUCER, "retry_attempts",
         lambda s: s.is_set("retry_attempts") and s.number("retry_attempts") == 0
         and s.may("kill", "restart", "pause"), COSTS, ("progress",),
         "while a leader is elected nobody responds: each publish of that time fails",
         "retry_attempts = 2, or more for a longer election", "https://pkg.go.dev/github.com/nats-io/nats.go/jetstream"),
    Rule("nats.client.notices-late", (*PRODUCER, "nats consumer"), "ping_interval",
         lambda s: s.pipeline is not None and s.may("pause", "partition") and s.ms("ping_interval") >= 120_000, COSTS,
         ("progress",),
         "a client on a server that stopped without closing its connections notices after ping_interval × "
         "(max_pings_out + 1), six minutes by default",
         'ping_interval = "1s"', "https://docs.nats.io/using-nats/developer/connecting/pingpong"),
)  # fmt: skip
