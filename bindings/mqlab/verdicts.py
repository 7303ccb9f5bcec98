"""Verdicts: what was said of each claim, and on what grounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from mqlab import _core
    from mqlab.counterexample import Counterexample
    from mqlab.scenario import Scenario

SCHEMA = "mqlab.verdicts/1"
HOLDS, VIOLATED, UNDECIDED = "holds", "violated", "undecided"
EXIT_AS_EXPECTED, EXIT_VIOLATED, EXIT_BAD_INPUT, EXIT_UNDECIDED, EXIT_ENVIRONMENT = range(5)


@dataclass(frozen=True)
class Reproduced:
    """How often a story showed again on a real broker."""

    times: int
    of: int


@dataclass(frozen=True)
class ClaimVerdict:
    """One claim's verdict. `value`: seconds, or messages per second, where the claim has a number."""

    claim: str
    scope: str  # "exactly_once of requests in vectors as billing"
    verdict: str  # holds | violated | undecided
    explanation: str = ""
    expected: str = HOLDS
    observed: int = 0  # what was looked at, in the claim's own unit
    population: int = 0
    violations: int = 0
    value: float | None = None
    witness: tuple[int, ...] = ()  # indices of history rows that prove a violation
    first_failing_schedule: int | None = None
    shrunk: tuple[int, int] | None = None  # requests made: before and after shrinking
    story: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()  # settings whose single change makes the story vanish, each with its line
    counterexample: Counterexample | None = None
    reproduced: Reproduced | None = None
    rests_on: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    anomalies: tuple[dict[str, Any], ...] = ()  # of log claims: each violation in full
    gates: bool = True  # false: reported only, without a say in the exit code

    @property
    def as_expected(self) -> bool:
        return self.verdict == self.expected

    def document(self) -> dict[str, Any]:
        again = self.reproduced
        return {
            "claim": self.claim,
            "scope": self.scope,
            "verdict": self.verdict,
            "expected": self.expected,
            "observed": self.observed,
            "population": self.population,
            "violations": self.violations,
            "value": self.value if self.value is None or isfinite(self.value) else None,
            "first_failing_schedule": self.first_failing_schedule,
            "explanation": self.explanation,
            "story": list(self.story),
            "causes": list(self.causes),
            "counterexample": str(self.counterexample.path) if self.counterexample else None,
            "reproduced": {"times": again.times, "of": again.of} if again else None,
            "rests_on": list(self.rests_on),
            "not_covered": list(self.not_covered),
            **({"anomalies": list(self.anomalies)} if self.anomalies else {}),
            **({} if self.gates else {"gates": False}),
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> ClaimVerdict:
        """What document() wrote of a single run; raises KeyError where a field is missing."""
        plain = ("scope", "verdict", "expected", "explanation", "observed", "population", "violations", "value")
        fields: dict[str, Any] = {name: document[name] for name in plain}
        fields |= {name: tuple(document[name]) for name in ("story", "causes", "rests_on", "not_covered")}
        fields |= {"anomalies": tuple(document.get("anomalies", ())), "gates": document.get("gates", True)}
        return cls(claim=document["claim"], **fields)


def over_one_run(
    scenario: Scenario, findings: Sequence[_core.Finding], *, world: str, client: str, seed: int
) -> Verdicts:
    """What the checkers say of a single run, in the scenario's order of claims."""
    from mqlab.conformance.concern import rests_on

    facts = rests_on(scenario)
    claims = []
    for spec, finding in zip(scenario.core.claims, findings, strict=True):
        claims.append(
            ClaimVerdict(
                claim=spec.id,
                scope=spec.scope,
                verdict=finding.verdict,
                explanation=finding.explanation,
                expected=VIOLATED if spec.expect_violated else HOLDS,
                observed=finding.observed,
                population=finding.population,
                violations=finding.violations,
                value=finding.value if has_value(spec.id) else None,
                witness=tuple(finding.witness),
                rests_on=facts,
            )
        )
    return Verdicts(tuple(claims), scenario.name, world, client, seed, brokers_of(scenario))


def _said(verdict: ClaimVerdict) -> str:
    surprise = verdict.verdict == HOLDS and verdict.expected == VIOLATED
    return "holds, was expected to be violated" if surprise else verdict.verdict


def brokers_of(scenario: Scenario) -> tuple[tuple[str, str], ...]:
    """Kind and version of each broker, as the scenario has them."""
    return tuple((broker.kind, broker.version) for broker in scenario.core.brokers)


def has_value(claim: str) -> bool:
    """Whether a claim comes with a number: seconds, or messages per second."""
    return claim.startswith("latency.") or claim in ("throughput", "backlog.bounded")


@dataclass(frozen=True)
class Verdicts(Sequence[ClaimVerdict]):
    """The verdicts of a run or a search, in the scenario's order. `[claim]` finds one by id or by scope."""

    claims: tuple[ClaimVerdict, ...]
    scenario: str  # its name
    world: str  # sim | live
    client: str  # flavour, and version where one ran
    seed: int
    brokers: tuple[tuple[str, str], ...] = ()  # kind and version of each: the version that ran, where one did
    schedules: int = 1
    schedules_per_second: float | None = None
    searched: dict[str, Any] = field(default_factory=dict)
    file: Path | None = None

    def __len__(self) -> int:
        return len(self.claims)

    def __iter__(self) -> Iterator[ClaimVerdict]:
        return iter(self.claims)

    def __getitem__(self, key: Any) -> Any:
        """By id ("order.key"), by scope where several claims share the id, or by number."""
        if not isinstance(key, str):
            return self.claims[key]
        for verdict in self.claims:
            if key in (verdict.claim, verdict.scope):
                return verdict
        raise KeyError(f"{key}; there is {', '.join(v.scope for v in self.claims) or 'no claim'}")

    @property
    def exit_code(self) -> int:
        """0 all as expected · 1 a claim is violated, or holds where it was expected not to · 3 undecided."""
        gating = [v for v in self.claims if v.gates]
        if any(v.verdict != UNDECIDED and not v.as_expected for v in gating):
            return EXIT_VIOLATED
        if any(v.verdict == UNDECIDED for v in gating):
            return EXIT_UNDECIDED
        return EXIT_AS_EXPECTED

    @property
    def summary(self) -> str:
        """One line: "embedder: 2 of 3 claims as expected; no_loss violated; exit 1"."""
        good = sum(v.verdict != UNDECIDED and v.as_expected for v in self.claims)
        odd = [f"{v.scope} {_said(v)}" for v in self.claims if v.verdict == UNDECIDED or not v.as_expected]
        counted = f"{self.scenario}: {good} of {len(self.claims)} claims as expected"
        return "; ".join([counted, *odd, f"exit {self.exit_code}"])

    def table(self) -> pd.DataFrame:
        """One row a claim."""
        import pandas as pd

        columns = ["claim", "scope", "verdict", "observed", "violations", "value", "explanation"]
        return pd.DataFrame([v.document() for v in self.claims], columns=columns)

    def document(self) -> dict[str, Any]:
        """The verdict document, schema mqlab.verdicts/1."""
        return {
            "schema": SCHEMA,
            "scenario": self.scenario,
            "world": self.world,
            "client": self.client,
            "brokers": [{"kind": kind, "version": version} for kind, version in self.brokers],
            "seed": self.seed,
            "schedules": self.schedules,
            "schedules_per_second": self.schedules_per_second,
            "searched": {"anchors": 0, "anchors_reached": 0, "shapes": 0} | self.searched,
            "summary": self.summary,
            "claims": [verdict.document() for verdict in self.claims],
        }
