"""A stage written in Python: consume, publish, wait for the answer, then commit or ack; at least once."""

from __future__ import annotations

import os
import signal
from collections import deque
from typing import TYPE_CHECKING

import mqlab

if TYPE_CHECKING:
    from mqlab._core import Effects


class Answer(mqlab.Module):
    """Setting `forget`: every how many messages one is not published (0: none), a mistake to be found."""

    uses = ("fetch", "publish")

    def __init__(self, context: mqlab.Context) -> None:
        super().__init__(context)
        self.forget = int(context.settings.get("forget", "0"))
        self.waiting: deque[mqlab.Message] = deque()
        self.publishing = 0
        self.generation = 0
        self.stopping = False

    def handle(self, now: mqlab.Now, event: mqlab.Event, effects: Effects) -> None:
        match event.kind:
            case "start":
                effects.fetch(10)
            case "assigned":
                self.generation = event.generation
                effects.accept(event.places, event.generation)
            case "revoking":
                gone = {place for place, _ in event.places}
                self.waiting = deque(m for m in self.waiting if m.place not in gone)
                effects.release(event.places, event.generation)
            case "delivered":
                self.waiting.extend(event.messages)
                if not self.publishing:
                    self.next(effects)
            case "settled":
                if any(s.op == self.publishing for s in event.settlements):
                    self.publishing = 0
                    self.finish(effects)
            case "stop":
                self.stopping = True

    def next(self, effects: Effects) -> None:
        if not self.waiting:
            if not self.stopping:
                effects.fetch(10)
            return
        message = self.waiting[0]
        effects.handle(message)
        if self.forget and message.id % self.forget == 0:
            self.finish(effects)
        else:
            self.publishing = effects.publish(message.output())

    def finish(self, effects: Effects) -> None:
        if self.waiting:
            message = self.waiting.popleft()
            effects.complete(message, "ok")
            if "log" in self.context.capabilities:
                effects.commit([(message.place, message.position + 1)], sync=False, generation=self.generation)
            else:
                effects.ack([message.receipt])
        self.next(effects)


class Broken(mqlab.Module):
    """Raises when the first message comes."""

    def handle(self, now: mqlab.Now, event: mqlab.Event, effects: Effects) -> None:
        if event.kind == "start":
            effects.fetch(1)
        elif event.kind == "assigned":
            effects.accept(event.places, event.generation)
        elif event.kind == "delivered":
            raise RuntimeError("no idea what to do with this")


class Dying(mqlab.Module):
    """Takes its whole process down, as the kernel does when memory runs out."""

    def handle(self, now: mqlab.Now, event: mqlab.Event, effects: Effects) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Needy(Broken):
    """Cannot do without what only one broker has."""

    uses = ("begin", "commit_transaction")


class Hoarder(mqlab.Module):
    """Keeps its effects beyond the call they belong to."""

    kept: Effects | None = None

    def handle(self, now: mqlab.Now, event: mqlab.Event, effects: Effects) -> None:
        if self.kept is not None:
            self.kept.fetch(1)
        self.kept = effects


class NoModule:
    """Not a subclass of mqlab.Module."""
