"""mqlab: checks the claims of message pipelines in a simulated world and on real brokers.

import mqlab
scenario = mqlab.load("experiments/kafka-at-least-once.toml")
verdicts = mqlab.verify(scenario, schedules=2000)
verdicts["no_duplicates"].counterexample.plot()
"""

from mqlab.api import compare, replay, run, verify
from mqlab.catalogue import brokers, claims, modules
from mqlab.compare import Comparison
from mqlab.counterexample import Counterexample, read_counterexample
from mqlab.errors import BrokerError, Error, HistoryError, ScenarioError
from mqlab.module import Context, Event, Message, Module, Now, Settlement
from mqlab.run import Run, read_run
from mqlab.scenario import Scenario, load
from mqlab.sweep import sweep
from mqlab.verdicts import ClaimVerdict, Verdicts

__all__ = [
    "BrokerError",
    "ClaimVerdict",
    "Comparison",
    "Context",
    "Counterexample",
    "Error",
    "Event",
    "HistoryError",
    "Message",
    "Module",
    "Now",
    "Run",
    "Scenario",
    "ScenarioError",
    "Settlement",
    "Verdicts",
    "brokers",
    "claims",
    "compare",
    "load",
    "modules",
    "read_counterexample",
    "read_run",
    "replay",
    "run",
    "sweep",
    "verify",
]
