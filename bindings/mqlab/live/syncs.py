"""Syncs that fail: strace, attached to a broker's process, has the kernel refuse fsync and fdatasync with EIO.

What was written stays in the page cache, as after an error that the kernel reports once and forgets. Detached, the
process syncs as before. Only the program's own reaction is real: no page is lost for it.
"""

from __future__ import annotations

import functools
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.live.processes import Child, wait_until

_INJECT = ("--trace=fsync,fdatasync", "--inject=fsync,fdatasync:error=EIO")


@functools.cache
def why_not() -> str:
    """Why syncs cannot be made to fail here; empty when they can."""
    if shutil.which("strace") is None:
        return "needs strace (Debian: strace)"
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            FailingSyncs(sleeper.pid, Path(folder) / "syncs.log").end()
        except BrokerError as error:
            return f"needs to trace a process of its own, which this system refuses: {error}"
        finally:
            sleeper.kill()
    return ""


class FailingSyncs:
    """From its making to end(), or to the end of the process. Raises BrokerError when it cannot attach."""

    def __init__(self, process: int, log: Path) -> None:
        command = ["strace", "--follow-forks", "--quiet=all", f"--output={log}", *_INJECT, f"--attach={process}"]
        self._log = log
        self._strace = Child("strace", command, log=log.with_suffix(".err"))
        attached = wait_until(lambda: not self._strace.alive or _all_traced(process, self._strace.pid), 10)
        failed = not attached or (not self._strace.alive and Path(f"/proc/{process}").exists())
        if failed:  # a process that ended meanwhile, perhaps for a sync that failed, is none of it
            self.end()
            raise BrokerError(f"strace could not attach to process {process}: {self._strace.last_lines()}")

    def end(self) -> bool:
        """The process goes on, and its syncs succeed. Whether one has failed."""
        self._strace.signal(signal.SIGINT)
        if not self._strace.ended.wait(10):
            self._strace.kill()
        return self._log.exists() and "INJECTED" in self._log.read_text(encoding="ascii", errors="replace")


def _all_traced(process: int, by: int) -> bool:
    try:
        return all(_tracer(thread) == by for thread in Path(f"/proc/{process}/task").iterdir())
    except OSError:  # a thread has ended just now
        return False


def _tracer(thread: Path) -> int:
    lines = (thread / "status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("TracerPid:"))
