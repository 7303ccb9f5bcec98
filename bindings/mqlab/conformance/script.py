"""A module that does what a list of steps says, one after the other: how an entry acts on a broker by hand.

Steps are separated by ";". Messages go by their id; `1..5` is a range.

    fetch N [WAIT]      until N messages came (or WAIT has passed)
    send IDS [k=v]      publish and wait for the answer; size=, key=, to= (output's number); size=0: no value
    post IDS [k=v]      publish, do not wait
    settled             wait for everything posted
    ack|nack|term|progress ID [DELAY]     of the latest delivery, or of one: ID@ATTEMPT
    commit POSITION     of the place read last
    seek POSITION
    begin · offsets · commit-transaction · abort-transaction
    sleep WAIT · leave · exit

At the end it goes on reading; of a queue it acknowledges what still comes.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

import mqlab

if TYPE_CHECKING:
    from mqlab._core import Effects

_UNITS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_MANY = 1000
_AFTER_SETTLING = {
    "begin": "begin_transaction",
    "commit-transaction": "commit_transaction",
    "abort-transaction": "abort_transaction",
    "leave": "leave",
}


def nanoseconds(text: str) -> int:
    """ "250ms" as a number. Raises ValueError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s|m)", text)
    if found is None:
        raise ValueError(f"{text!r} is no duration such as 250ms or 2s")
    return round(float(found[1]) * _UNITS[found[2]])


def numbers(text: str) -> list[int]:
    """ "3" or "1..5"."""
    first, _, last = text.partition("..")
    return list(range(int(first), int(last or first) + 1))


def plan(text: str) -> deque[list[str]]:
    """The steps in order; one for each message of a range."""
    steps: deque[list[str]] = deque()
    for step in filter(None, (part.split() for part in text.split(";"))):
        if step[0] in ("send", "ack", "nack", "term", "progress") and ".." in step[1]:
            steps.extend([step[0], str(number), *step[2:]] for number in numbers(step[1]))
        else:
            steps.append(step)
    return steps


class Script(mqlab.Module):
    """Setting `steps`: what the first incarnation does; `again`: what later ones do (default: only read)."""

    uses = ("fetch",)

    def __init__(self, context: mqlab.Context) -> None:
        super().__init__(context)
        first = context.incarnation == 0
        self.steps = plan(context.settings.get("steps" if first else "again", ""))
        self.waits_for: set[int] = set()  # ops whose end the step at hand waits for
        self.posted: set[int] = set()  # ops that nobody waits for yet
        self.fetching = 0
        self.wanted = 0
        self.generation = 0
        self.wake: int | None = None  # asleep until then
        self.until: int | None = None  # the fetch at hand ends then, whatever came
        self.receipts: dict[tuple[int, int], int] = {}
        self.latest: dict[int, mqlab.Message] = {}
        self.next_of: dict[int, int] = {}  # place → the position after what was read
        self.fresh: list[mqlab.Message] = []  # came with the latest answer
        self.ended = False

    def deadline(self) -> int | None:
        return self.wake

    def handle(self, now: mqlab.Now, event: mqlab.Event, effects: Effects) -> None:
        match event.kind:
            case "assigned":
                self.generation = event.generation
                effects.accept(event.places, event.generation)
            case "revoking":
                effects.release(event.places, event.generation)
            case "delivered":
                self._took(now, event)
                self.fresh = list(event.messages) if not self.steps and not self.wanted else []
            case "settled":
                ended = {settlement.op for settlement in event.settlements}
                self.waits_for -= ended
                self.posted -= ended
            case "tick" if self.wake is not None and now.mono >= self.wake:
                self.wake = None
            case "stop":
                self.ended = True
                effects.flush()
        if event.kind != "stop":
            self._go_on(now, effects)

    def _took(self, now: mqlab.Now, event: mqlab.Event) -> None:
        if event.op == self.fetching:
            self.fetching = 0
        self.wanted = max(0, self.wanted - len(event.messages))
        if self.until is not None and now.mono >= self.until:
            self.wanted = 0
        for message in event.messages:
            self.latest[message.id] = message
            self.receipts[message.id, message.attempt] = message.receipt
            self.next_of[message.place] = message.position + 1

    def _go_on(self, now: mqlab.Now, effects: Effects) -> None:
        """Steps until one has to wait."""
        while not (self.ended or self.waits_for or self.wake is not None):
            if self.wanted > 0:
                self._fetch(effects, self.wanted, self.until and max(1, self.until - now.mono))
                return
            if not self.steps:
                self._drain(effects)
                return
            self._do(now, self.steps.popleft(), effects)

    def _drain(self, effects: Effects) -> None:
        self._fetch(effects, _MANY, None)
        if self.fresh and "queue" in self.context.capabilities:
            effects.ack([message.receipt for message in self.fresh])
        self.fresh = []

    def _fetch(self, effects: Effects, count: int, wait: int | None) -> None:
        if not self.fetching:
            self.fetching = effects.fetch(count, wait)

    def _do(self, now: mqlab.Now, step: list[str], effects: Effects) -> None:
        name, *rest = step
        if name == "fetch":
            self.wanted = int(rest[0])
            self.until = now.mono + nanoseconds(rest[1]) if rest[1:] else None
        elif name == "sleep":
            self.wake = now.mono + nanoseconds(rest[0])
        elif name == "send":
            self.waits_for = {self._publish(int(rest[0]), rest[1:], effects)}
        elif name == "post":
            self.posted |= {self._publish(number, rest[1:], effects) for number in numbers(rest[0])}
        elif name == "settled":
            self.waits_for, self.posted = self.posted, set()
        elif name in ("commit", "seek", "offsets"):
            self.waits_for = {self._positions(name, rest, effects)}
        elif name in _AFTER_SETTLING:
            self.waits_for = {getattr(effects, _AFTER_SETTLING[name])()}
        elif name == "exit":
            self.ended = True
            effects.exit()
        else:
            self.waits_for = {self._answer(name, rest, effects)}

    def _publish(self, number: int, options: list[str], effects: Effects) -> int:
        named = dict(option.split("=", 1) for option in options)
        message = mqlab.Message(number, key=int(named.get("key", 0)), size=int(named.get("size", 100)), digest=number)
        return effects.publish(message, output=int(named.get("to", 0)))

    def _positions(self, name: str, rest: list[str], effects: Effects) -> int:
        if name == "offsets":
            return effects.offsets_to_transaction(list(self.next_of.items()), self.generation)
        places = [(place, int(rest[0])) for place in list(self.next_of)[-1:]]
        if name == "seek":
            return effects.seek(places)
        return effects.commit(places, sync=True, generation=self.generation)

    def _answer(self, name: str, rest: list[str], effects: Effects) -> int:
        number, _, attempt = rest[0].partition("@")
        which = int(attempt) if attempt else self.latest[int(number)].attempt
        receipts = [self.receipts[int(number), which]]
        if name == "nack":
            return effects.nack(receipts, nanoseconds(rest[1]) if rest[1:] else 0)
        return {"ack": effects.ack, "term": effects.terminate, "progress": effects.progress}[name](receipts)
