"""The application around the clients: when it commits, how it retries, what it claims."""

from __future__ import annotations

from typing import Any

from mqlab.lint.rule import CONTRADICTS, WEAKENS, Rule
from mqlab.lint.subject import Subject

ON = ("stage",)
SEMANTICS = "https://kafka.apache.org/documentation/#semantics"
PATTERNS = "https://www.confluent.io/blog/error-handling-patterns-in-kafka/"


def commits(s: Subject) -> bool:
    return s.fact("module") in ("stage", "consumer", "idempotent-sink")


def retry(s: Subject) -> dict[str, Any]:
    return dict(s.fact("retry", {}))


def failing(s: Subject) -> bool:
    failure = s.fact("failure", {})
    return bool(failure.get("transient", 0) or failure.get("poison", 0))


def repeats(s: Subject) -> bool:
    """It commits or acknowledges after its effect: a crash in between repeats the effect."""
    makes_effects = bool(s.fact("outputs")) and s.fact("module") == "stage"
    return makes_effects and s["when"] == "after" and s["commit"] != "auto" and s.may("kill", "power_loss", "restart")


RULES = (
    Rule("pipeline.commits-before-work", ON, "when",
         lambda s: commits(s) and s["when"] == "before" and s.may("kill", "power_loss", "restart"), WEAKENS,
         ("loss", "commits"),
         "what is committed and not yet handled is lost when the worker dies: at most once",
         'when = "after"', SEMANTICS),
    Rule("pipeline.effect-then-commit", ON, "when", repeats, WEAKENS, ("duplicates",),
         "a worker that dies between its result and its commit makes the result again: at least once",
         'module = "transactional-stage" (Kafka), or an idempotent sink', SEMANTICS),
    Rule("pipeline.gives-up-silently", ON, "retry.dead_letter",
         lambda s: failing(s) and not retry(s).get("dead_letter") and commits(s), WEAKENS, ("loss",),
         "a message that still fails after the last attempt counts as handled and is nowhere",
         "retry.dead_letter = TOPIC", PATTERNS),
    Rule("pipeline.one-attempt", ON, "retry.attempts",
         lambda s: s.fact("failure", {}).get("transient", 0) > 0 and retry(s).get("attempts", 1) <= 1, WEAKENS,
         ("loss",),
         "failures that would pass are not tried again", "retry.attempts = 5", PATTERNS),
    Rule("pipeline.transactions-without-ids", ("kafka producer",), "transactional.id",
         lambda s: s.stage is not None and s.fact("module") == "transactional-stage" and not s["transactional.id"],
         CONTRADICTS, (),
         "a transactional stage without a transactional.id cannot begin a transaction",
         'transactional.id = "NAME-{instance}"', "KIP-98"),
    Rule("pipeline.order-over-workers", ON, "instances",
         lambda s: s.fact("instances") > 1 and bool(s.topics) and s.topics[0].kind == "nats stream", WEAKENS,
         ("order",),
         "the workers of one queue take its messages in turn: a slow one is overtaken by the next",
         "one instance with max_ack_pending = 1, or a stream and a consumer for each part of the keys",
         "https://docs.nats.io/nats-concepts/jetstream/consumers"),
)  # fmt: skip
