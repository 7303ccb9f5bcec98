"""mqlab: checks the claims of message pipelines in a simulated world and on real brokers.

import mqlab
scenario = mqlab.load("experiments/kafka-at-least-once.toml")
verdicts = mqlab.verify(scenario, schedules=2000)
verdicts["no_duplicates"].counterexample.plot()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mqlab.lint import lint  # here, not later: the function's name is that of its package

if TYPE_CHECKING:
    from mqlab.api import compare, replay, run, verify
    from mqlab.catalogue import brokers, claims, modules
    from mqlab.checking import check
    from mqlab.comparison import Comparison
    from mqlab.counterexample import Counterexample, read_counterexample
    from mqlab.errors import BrokerError, Error, HistoryError, ScenarioError
    from mqlab.matrices import Matrix, matrix
    from mqlab.mending import Mending, mend
    from mqlab.module import Context, Event, Message, Module, Now, Settlement
    from mqlab.runs import Run, read_run
    from mqlab.scenario import Scenario, load
    from mqlab.sweeps import sweep
    from mqlab.verdicts import ClaimVerdict, Verdicts

# Where each name is at home: loaded when it is first used, so that a command which needs little starts at once.
_HOMES = {
    "api": ("compare", "replay", "run", "verify"),
    "catalogue": ("brokers", "claims", "modules"),
    "checking": ("check",),
    "comparison": ("Comparison",),
    "counterexample": ("Counterexample", "read_counterexample"),
    "errors": ("BrokerError", "Error", "HistoryError", "ScenarioError"),
    "matrices": ("Matrix", "matrix"),
    "mending": ("Mending", "mend"),
    "module": ("Context", "Event", "Message", "Module", "Now", "Settlement"),
    "runs": ("Run", "read_run"),
    "scenario": ("Scenario", "load"),
    "sweeps": ("sweep",),
    "verdicts": ("ClaimVerdict", "Verdicts"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mqlab' has no attribute {name!r}")
    value = getattr(import_module(f"mqlab.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


__all__ = [
    "BrokerError",
    "ClaimVerdict",
    "Comparison",
    "Context",
    "Counterexample",
    "Error",
    "Event",
    "HistoryError",
    "Matrix",
    "Mending",
    "Message",
    "Module",
    "Now",
    "Run",
    "Scenario",
    "ScenarioError",
    "Settlement",
    "Verdicts",
    "brokers",
    "check",
    "claims",
    "compare",
    "lint",
    "load",
    "matrix",
    "mend",
    "modules",
    "read_counterexample",
    "read_run",
    "replay",
    "run",
    "sweep",
    "verify",
]
