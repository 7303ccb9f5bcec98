"""Latency and rates of a run, from its history: vectorised, and alike for both worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mqlab.history import FLAG, KIND, PHASE, History, Rows

Nanoseconds = NDArray[np.int64]
QUANTILES = (0.5, 0.75, 0.95, 0.99, 0.999, 0.9999, 1.0)


@dataclass(frozen=True)
class Latency:
    """Latencies of all requests of a run. `samples`: nanoseconds, sorted; requests without an answer count as ∞."""

    samples: Nanoseconds
    unanswered: int

    def quantile(self, q: float) -> float:
        """Seconds; ∞ where too many requests had no answer; nan where there were none."""
        total = len(self.samples) + self.unanswered
        if total == 0:
            return math.nan
        rank = max(math.ceil(q * total), 1)
        return float(self.samples[rank - 1]) / 1e9 if rank <= len(self.samples) else math.inf

    @property
    def mean(self) -> float:
        """Seconds, over the answered ones; nan where there were none."""
        return float(self.samples.mean()) / 1e9 if len(self.samples) else math.nan

    def __len__(self) -> int:
        return len(self.samples) + self.unanswered

    def __repr__(self) -> str:
        parts = (f"p{100 * q:g} {self.quantile(q) * 1e3:.3g} ms" for q in (0.5, 0.95, 0.99))
        return f"<mqlab.Latency {', '.join(parts)}, {len(self)} requests, {self.unanswered} unanswered>"


class Measures:
    """What a run's history says of cost. Times in nanoseconds since the run began."""

    def __init__(self, history: History) -> None:
        self.history = history
        scenario = history.scenario.core
        read_by_stages = {topic for stage in scenario.stages for topic in stage.inputs}
        self._ends = [o.name for o in scenario.observers if o.topic not in read_by_stages]
        self._last_stages = [s.name for s in scenario.stages if not set(s.outputs) & read_by_stages]

    @cached_property
    def requests(self) -> Rows:
        """The workload's requests: `message`, `time` (handed to the producer), `aux` (intended send)."""
        return self.history.where("invoke", "ok")

    @cached_property
    def published(self) -> Rows:
        """The first acknowledgement of each request by the broker, at the workload's producers."""
        return _first_of_each(self._rows("publish", "ok", self.history.processes_of("workload")))

    @cached_property
    def arrived(self) -> Rows:
        """The first arrival of each request at the pipeline's end.

        That is an observer of a topic that no stage reads; where there is none, the last stage: its output stored,
        or its handler done when it has no output.
        """
        if self._ends:
            processes = [p for name in self._ends for p in self.history.processes_of("observer", name)]
            return _first_of_each(self._rows("deliver", "ok", processes))
        stages = {s.name: s for s in self.history.scenario.core.stages}
        ends = []
        for name in self._last_stages:
            kind = "publish" if stages[name].outputs else "complete"
            ends.append(self._rows(kind, "ok", self.history.processes_of("stage", name)))
        if not ends:
            return self.published
        return _first_of_each(np.concatenate(ends))

    @cached_property
    def publish_latency(self) -> Latency:
        """From the intended send to the broker's acknowledgement."""
        return self._latency(self.published, "aux")

    @cached_property
    def end_to_end(self) -> Latency:
        """From the intended send (no coordinated omission) to the arrival at the pipeline's end."""
        return self._latency(self.arrived, "aux")

    @cached_property
    def end_to_end_from_send(self) -> Latency:
        """As end_to_end, from the moment the request was handed to the producer."""
        return self._latency(self.arrived, "time")

    @property
    def throughput(self) -> float:
        """Arrivals per second between the first and the last; 0 where there are fewer than two."""
        times = self.arrived["time"]
        span = int(times.max() - times.min()) if len(times) > 1 else 0
        return (len(times) - 1) * 1e9 / span if span else 0.0

    def _rows(self, kind: str, phase: str, processes: list[int]) -> Rows:
        rows = self.history.rows
        mask = (rows["kind"] == KIND[kind]) & (rows["phase"] == PHASE[phase])
        mask &= (rows["message"] > 0) & (rows["flags"] & FLAG["header"] == 0)
        found: Rows = rows[mask & np.isin(rows["process"], processes)]
        return found

    def _latency(self, ends: Rows, begin: str) -> Latency:
        requests = _first_of_each(self.requests)
        _, of_request, of_end = np.intersect1d(
            requests["message"], ends["message"], assume_unique=True, return_indices=True
        )
        samples = ends["time"][of_end] - requests[begin][of_request]
        return Latency(np.sort(samples), len(requests) - len(samples))


def _first_of_each(rows: Rows) -> Rows:
    """The earliest row of each message, by message."""
    rows = rows[np.argsort(rows["time"], kind="stable")]
    return rows[np.unique(rows["message"], return_index=True)[1]]
