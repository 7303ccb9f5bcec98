"""What topics and streams take on disk, measured while a run goes on: rows of kind `usage`, where a claim asks."""

from __future__ import annotations

from typing import Any

from mqlab.live.cluster import Cluster
from mqlab.live.engine import Engine
from mqlab.live.rest import BrokerState


class UsageWatch:
    """Looks once for each answer of the broker; writes what has changed."""

    def __init__(self, engine: Engine, cluster: Cluster, described: dict[str, Any], lab: int) -> None:
        self._engine, self._cluster, self._lab = engine, cluster, lab
        self._wanted: bool = described["watch_disk"]
        self._seen: dict[int, int] = {}  # place → bytes
        self._answer: dict[str, Any] | None = None

    def look(self, state: BrokerState) -> None:
        answer = state.since(0) if self._wanted else None
        if answer is None or answer is self._answer:
            return
        self._answer = answer
        for place in answer["places"]:
            taken: int = place["bytes"] if place["bytes"] >= 0 else self._cluster.log_bytes(place["log"])
            if taken >= 0 and taken != self._seen.get(place["place"], 0):
                self._seen[place["place"]] = taken
                self._engine.row(self._lab, "usage", place=place["place"], aux=taken)
