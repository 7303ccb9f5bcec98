"""`python -m mqlab.worker`: a live worker for a module written in Python; arguments as mqlab-worker's."""

from __future__ import annotations

import signal
import sys

from mqlab import _core
from mqlab.errors import ScenarioError
from mqlab.verdicts import EXIT_BAD_INPUT, EXIT_ENVIRONMENT


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the controller ends its workers itself
    try:
        return _core.run_worker(sys.argv)
    except ScenarioError as error:
        print(f"mqlab-worker: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except (RuntimeError, OSError) as error:
        print(f"mqlab-worker: {error}", file=sys.stderr)
        return EXIT_ENVIRONMENT


if __name__ == "__main__":
    sys.exit(main())
