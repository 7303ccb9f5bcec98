"""Topics that get more partitions during a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqlab import _core


class Growth:
    """`topics`: as described; `ask`: a question to the broker, answered by a table."""

    def __init__(self, topics: list[dict[str, Any]], ask: Callable[[str], dict[str, Any]]) -> None:
        self._topics, self._ask = topics, ask
        self._grown: set[int] = set()

    def first_new_place(self, topic: int | None) -> int:
        if topic is None:
            return int(_core.NO_PLACE)
        return int(self._topics[topic]["first_place"] + self._topics[topic]["at_first"])

    def may(self, topic: int) -> bool:
        """Once."""
        return topic not in self._grown

    def grow(self, topic: int) -> str:
        """Why it did not; empty when it did."""
        self._grown.add(topic)
        problem = self._ask(f"grow {topic}").get("error")
        return f"{self._topics[topic]['name']} got no more partitions: {problem}" if problem else ""
