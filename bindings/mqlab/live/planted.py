"""A stage with a planted defect: it handles every third request and publishes nothing for it.

Before a live series the lab must find this on the real broker. If it does not, workers, rows, audit or checkers are
blind, and a live "not violated" would mean nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mqlab.module import Context, Event, Message, Module, Now
from mqlab.scenario import Scenario, load

if TYPE_CHECKING:
    from mqlab._core import Effects

FORGETS = 3
_PLACE = {"kafka": "topics", "nats": "streams"}
_READS = {"kafka": {"auto.offset.reset": "earliest", "enable.auto.commit": False}, "nats": {"durable": "forgetful"}}


def planted(scenario: Scenario) -> Scenario:
    """A small pipeline on the same broker with the same settings; its claim must be found violated."""
    document = scenario.to_dict()
    broker = dict(document.get("broker") or document["brokers"][0])
    broker.pop("quotas", None)  # they name the scenario's clients, and count what was done before a run
    kind = broker["kind"]
    return load(
        {
            "name": "planted",
            "broker": broker,
            "client": document["client"] if document["client"]["flavour"] != "java" else {"flavour": "librdkafka"},
            _PLACE[kind]: [{"name": "planted-in"}, {"name": "planted-out"}],
            "workload": {"topic": "planted-in", "rate": "100/s", "messages": 2 * FORGETS},
            "stages": [
                {
                    "name": "forgetful",
                    "module": f"{Path(__file__).resolve()}:Forgetful",
                    "input": "planted-in",
                    "output": "planted-out",
                    "consumer": _READS[kind],
                }
            ],
            "claims": {"no_loss": {"of": "planted-in", "in": "planted-out"}},
            "limits": {"live_timeout": "60s"},
        }
    )


class Forgetful(Module):
    uses = ("fetch", "publish")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.stopping = False
        self.generation = 0

    def handle(self, now: Now, event: Event, effects: Effects) -> None:
        match event.kind:
            case "start":
                effects.fetch(1)
            case "assigned":
                self.generation = event.generation
                effects.accept(event.places, event.generation)
            case "revoking":
                effects.release(event.places, event.generation)
            case "stop":
                self.stopping = True
            case "delivered":
                for message in event.messages:
                    self.take(message, effects)
                if not self.stopping:
                    effects.fetch(1)

    def take(self, message: Message, effects: Effects) -> None:
        effects.handle(message)
        if message.id % FORGETS:
            effects.publish(message.output())
        effects.complete(message)
        if "log" in self.context.capabilities:
            effects.commit([(message.place, message.position + 1)], sync=False, generation=self.generation)
        else:
            effects.ack([message.receipt])
