"""A result of OpenMessaging Benchmark (TestResult.java) as one side of a comparison."""

from __future__ import annotations

import bisect
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqlab.errors import HistoryError

_MAX_BYTES = 256 << 20
_PREFIXES = {"publish_latency": "aggregatedPublishLatency", "end_to_end": "aggregatedEndToEndLatency"}
_FIELDS = {0.5: "50pct", 0.75: "75pct", 0.95: "95pct", 0.99: "99pct", 0.999: "999pct", 0.9999: "9999pct", 1.0: "Max"}


@dataclass(frozen=True)
class OmbLatency:
    """Latency of all messages. `fields`: seconds by quantile, as the result names them; `points`: its whole curve."""

    fields: dict[float, float]
    points: list[tuple[float, float]]

    def quantile(self, q: float) -> float:
        """Seconds; nan where the result does not say."""
        if q in self.fields:
            return self.fields[q]
        place = bisect.bisect_left(self.points, (q, -math.inf))
        return self.points[place][1] if place < len(self.points) else math.nan


@dataclass(frozen=True)
class OmbResult:
    """What a result file says. Rates: messages per second, the mean of its windows; latency from the actual send,
    as the benchmark measures it."""

    file: str
    workload: str
    driver: str
    throughput: float
    publish_latency: OmbLatency
    end_to_end: OmbLatency
    windows: int


def read_omb_result(path: str | Path) -> OmbResult:
    """Raises HistoryError, in one line, for what is no such result."""
    file = Path(path)
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise HistoryError(f"{path}: is larger than {_MAX_BYTES:,} bytes")
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise HistoryError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(document, dict) or "publishRate" not in document:
        raise HistoryError(f"{path}: is no result of OpenMessaging Benchmark: publishRate is missing")
    rates = _numbers(path, document, "consumeRate") or _numbers(path, document, "publishRate")
    return OmbResult(
        file=str(path),
        workload=str(document.get("workload", "")),
        driver=str(document.get("driver", "")),
        throughput=sum(rates) / len(rates) if rates else math.nan,
        publish_latency=_latency(path, document, _PREFIXES["publish_latency"]),
        end_to_end=_latency(path, document, _PREFIXES["end_to_end"]),
        windows=len(rates),
    )


def _latency(path: str | Path, document: dict[str, Any], prefix: str) -> OmbLatency:
    fields = {q: _seconds(path, document, prefix + name) for q, name in _FIELDS.items()}
    curve = document.get(f"{prefix}Quantiles") or {}
    if not isinstance(curve, dict):
        raise HistoryError(f"{path}: {prefix}Quantiles: must be a table")
    try:
        points = sorted((float(q) / 100, float(value) / 1e3) for q, value in curve.items() if value is not None)
    except (TypeError, ValueError):
        raise HistoryError(f"{path}: {prefix}Quantiles: must hold numbers") from None
    return OmbLatency({q: value for q, value in fields.items() if not math.isnan(value)}, points)


def _seconds(path: str | Path, document: dict[str, Any], key: str) -> float:
    """Milliseconds in the file; absent or null is nan."""
    value = document.get(key)
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise HistoryError(f"{path}: {key}: {value!r} must be a number")
    return float(value) / 1e3


def _numbers(path: str | Path, document: dict[str, Any], key: str) -> list[float]:
    values = document.get(key, [])
    if not isinstance(values, list) or any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in values):
        raise HistoryError(f"{path}: {key}: must be a list of numbers")
    return [float(v) for v in values]
