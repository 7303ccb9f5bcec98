"""Simulated runs over shared links, each in a process of its own.

A second engine of SimGrid in one process would begin at the first one's clock, and some of its errors end the process.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mqlab import _core
from mqlab.errors import BrokerError, ScenarioError
from mqlab.live import guard
from mqlab.scenario import Scenario

_GUARD = Path(guard.__file__)


@dataclass(frozen=True)
class Done:
    """What comes back from the run."""

    rows: NDArray[np.void]
    hash: int
    faults_reached: bool


def simulate(scenario: Scenario, schedule: _core.Schedule) -> Done:
    """One run over the scenario's platform or racks.

    Raises ScenarioError where the platform is at fault or SimGrid is not there, BrokerError when the process ends
    without an answer.
    """
    key = "network.platform" if "platform" in scenario.to_dict()["network"] else "network.racks"
    if importlib.util.find_spec("mqlab._simgrid") is None:
        raise ScenarioError(scenario.file, 0, key, "this mqlab was built without SimGrid (Debian: libsimgrid-dev)")
    schedule_fields = (schedule.seed, schedule.masked, schedule.zero_jitter, schedule.order, schedule.overtakes)
    # Bound to this process's life by the kernel.
    command = [sys.executable, str(_GUARD), str(os.getpid()), sys.executable, "-m", "mqlab.simgrid"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            given = pickle.dumps((scenario, schedule_fields))
            found, complaint = child.communicate(given)
        except BaseException:  # an interruption too
            child.kill()
            child.wait()
            raise
    if child.returncode != 0:
        said = complaint.decode(errors="replace").strip().splitlines()
        for line in said:  # what it cannot make sense of in a platform ends its process
            if "/CRITICAL] " in line:
                raise ScenarioError(scenario.file, 0, key, f"SimGrid says: {line.partition('/CRITICAL] ')[2]}")
        raise BrokerError(f"the run over SimGrid ended with {child.returncode}: {said[-1] if said else 'no word'}")
    answer = pickle.loads(found)
    if isinstance(answer, ScenarioError):
        raise answer
    data, number, reached = answer
    return Done(np.frombuffer(data, dtype=_core.ROW), number, reached)


def main() -> None:
    """The child: a scenario and a schedule from standard input, the run to standard output, both pickled."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing here needs a last word
    scenario, fields = pickle.load(sys.stdin.buffer)
    try:
        from mqlab import _simgrid

        done = _core.simulate(scenario.core, _core.Schedule(*fields), _simgrid.fabric(scenario.core))
        answer: object = (done.rows.tobytes(), done.hash, done.faults_reached)
    except ScenarioError as error:
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))
    sys.stdout.buffer.flush()
    os._exit(0)  # SimGrid's own end would look for actors that still wait


if __name__ == "__main__":
    main()
