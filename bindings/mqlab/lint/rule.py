"""A rule, and what it finds. The rules themselves are tables: one file a topic, `rules_*.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqlab.lint.subject import Subject

CONTRADICTS = "contradicts"  # the real program refuses it, or silently ignores one of the two
WEAKENS = "weakens"  # accepted, and a guarantee is gone
COSTS = "costs"  # accepted, and time or progress is lost

# What a rule threatens → the claims that a scenario may make about it.
FAMILIES: dict[str, tuple[str, ...]] = {
    "loss": ("no_loss", "exactly_once", "accounted", "rate.loss", "effect_once"),
    "duplicates": ("no_duplicates", "exactly_once", "rate.duplicates", "effect_once"),
    "order": ("order.partition", "order.key", "order.total", "order.causal", "log.monotonic_send"),
    "phantoms": ("no_phantom", "exactly_once"),
    "transactions": ("txn.atomic", "txn.read_committed", "exactly_once"),
    "commits": ("commit.covers_processed", "no_loss", "exactly_once"),
    "progress": ("answered", "recovers", "progress.consumer", "backlog.bounded", "throughput", "latency."),
}


@dataclass(frozen=True)
class Rule:
    """One rule. `on`: the kinds of subjects it looks at; `at`: the setting it is reported at."""

    id: str
    on: tuple[str, ...]
    at: str
    when: Callable[[Subject], bool]
    severity: str
    threatens: tuple[str, ...]  # families; empty: reported whatever is claimed
    reason: str
    mend: str
    source: str


@dataclass(frozen=True)
class Finding:
    """What a rule found. `line`: of the setting; of its table or 1 where a default is meant."""

    file: str
    line: int
    path: str
    rule: str
    severity: str
    reason: str
    mend: str
    source: str
    claims: tuple[str, ...] = ()  # the scenario's claims that it threatens, by scope

    def document(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "path": self.path,
            "rule": self.rule,
            "severity": self.severity,
            "reason": self.reason,
            "mend": self.mend,
            "source": self.source,
            "claims": list(self.claims),
        }
