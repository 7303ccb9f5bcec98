"""Two runs side by side: the worlds of one scenario, or any two results."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mqlab.measure import QUANTILES, Latency
from mqlab.omb.result import OmbLatency, OmbResult
from mqlab.runs import Run
from mqlab.verdicts import EXIT_AS_EXPECTED, EXIT_UNDECIDED, EXIT_VIOLATED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Measured:
    """One figure in both runs; seconds, or requests per second."""

    name: str
    a: float
    b: float

    @property
    def ratio(self) -> float:
        """b ÷ a; nan where either has no figure."""
        usable = math.isfinite(self.a) and math.isfinite(self.b) and self.a > 0
        return self.b / self.a if usable else math.nan


@dataclass(frozen=True)
class Judged:
    """One claim in both runs; None where a run does not have it."""

    claim: str
    a: str | None
    b: str | None

    @property
    def agree(self) -> bool:
        return self.a == self.b


@dataclass(frozen=True)
class Comparison:
    """Run `a` and run `b`, per quantile and per claim; either may be a result of OpenMessaging Benchmark, which
    judges no claim and measures from the actual send."""

    a: Run | OmbResult
    b: Run | OmbResult

    @property
    def runs(self) -> list[Run]:
        """Those of the two that the lab made."""
        return [run for run in (self.a, self.b) if isinstance(run, Run)]

    @property
    def figures(self) -> list[Measured]:
        return [Measured("throughput", self.a.throughput, self.b.throughput), *self._quantiles()]

    def _quantiles(self) -> Iterator[Measured]:
        for title, of in (("publish", "publish_latency"), ("end to end", "end_to_end")):
            for q in QUANTILES:
                name = f"{title} {'max' if q == 1 else f'p{100 * q:g}'}"
                yield Measured(name, _latency(self.a, of).quantile(q), _latency(self.b, of).quantile(q))

    @property
    def claims(self) -> list[Judged]:
        a, b = _judged(self.a), _judged(self.b)
        return [Judged(scope, a.get(scope), b.get(scope)) for scope in dict.fromkeys([*a, *b])]

    @property
    def exit_code(self) -> int:
        """As for one run: 1 outranks 3 outranks 0, over both."""
        codes = {run.verdicts.exit_code for run in self.runs}
        return next((c for c in (EXIT_VIOLATED, EXIT_UNDECIDED) if c in codes), EXIT_AS_EXPECTED)

    def table(self) -> pd.DataFrame:
        """One row a figure: a, b (seconds, per second) and b ÷ a."""
        import pandas as pd

        return pd.DataFrame([(m.name, m.a, m.b, m.ratio) for m in self.figures], columns=["figure", "a", "b", "ratio"])

    def plot(self) -> Figure:
        from mqlab import plots

        return plots.latency_of(self.runs)

    def document(self) -> dict[str, Any]:
        def number(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "schema": "mqlab.compare/1",
            "a": _about(self.a),
            "b": _about(self.b),
            "figures": [
                {
                    "figure": m.name,
                    "unit": "requests/s" if m.name == "throughput" else "s",
                    "a": number(m.a),
                    "b": number(m.b),
                    "ratio": number(m.ratio),
                }
                for m in self.figures
            ],
            "claims": [{"claim": j.claim, "a": j.a, "b": j.b, "agree": j.agree} for j in self.claims],
        }


def _judged(run: Run | OmbResult) -> dict[str, str]:
    return {v.scope: v.verdict for v in run.verdicts} if isinstance(run, Run) else {}


def _latency(run: Run | OmbResult, of: str) -> Latency | OmbLatency:
    latency: Latency | OmbLatency = getattr(run.measures if isinstance(run, Run) else run, of)
    return latency


def _about(run: Run | OmbResult) -> dict[str, Any]:
    if isinstance(run, OmbResult):
        return {"file": run.file, "workload": run.workload, "driver": run.driver, "windows": run.windows}
    return {
        "scenario": run.scenario.name,
        "world": run.world,
        "client": run.verdicts.client,
        "seed": run.seed,
        "requests": len(run.latency),
        "unanswered": run.latency.unanswered,
        "folder": str(run.folder) if run.folder else None,
    }
