"""Child processes of the lab: started so that they never outlive it, watched for every stop and end."""

from __future__ import annotations

import functools
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

_GUARD = Path(__file__).with_name("guard.py")
Watcher = Callable[["Child", str, int], None]


class _Spawner:
    """Starts every child from one thread that lives as long as the interpreter: the kernel's parent-death signal
    is sent when the *thread* that started a child ends."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="mqlab-spawner", daemon=True).start()

    def _work(self) -> None:
        while True:
            future, job = self._jobs.get()
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)

    def run(self, job: Callable[[], Any]) -> Any:
        future: Future[Any] = Future()
        self._jobs.put((future, job))
        return future.result()


@functools.cache
def _spawner() -> _Spawner:
    return _Spawner()


os.register_at_fork(after_in_child=_spawner.cache_clear)  # a forked child would have the object but not its thread


class Child:
    """A process in a session of its own. `watcher(child, "stopped" | "exited", status)` is called on a thread of
    the child's for each SIGSTOP it comes to and once for its end; status: signal number, or exit code (negative: the
    signal that ended it)."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        guarded: bool = True,
        cwd: Path | None = None,
        environment: dict[str, str] | None = None,
        watcher: Watcher | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int | None = None,
    ) -> None:
        self.name, self.log = name, log
        self.returncode: int | None = None
        self.ended = threading.Event()
        self._watcher = watcher
        whole = [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), *command] if guarded else list(command)
        inherited = os.environ if environment is None else environment
        surroundings = {**inherited, "MQLAB_PARENT": str(os.getpid())}  # live/worker/main.cc looks for it
        with log.open("ab") as out:
            self.popen: subprocess.Popen[bytes] = _spawner().run(
                lambda: subprocess.Popen(
                    whole, stdin=stdin, stdout=out if stdout is None else stdout, stderr=out, cwd=cwd,
                    env=surroundings, start_new_session=True,
                )
            )  # fmt: skip
        self.pid = self.popen.pid
        threading.Thread(target=self._watch, name=f"mqlab-watch-{name}", daemon=True).start()

    def _watch(self) -> None:
        while True:
            try:
                _, status = os.waitpid(self.pid, os.WUNTRACED)
            except ChildProcessError:
                status = 0
                break
            if os.WIFSTOPPED(status):
                self._tell("stopped", os.WSTOPSIG(status))
            else:
                break
        self.returncode = self.popen.returncode = os.waitstatus_to_exitcode(status)
        self.ended.set()
        self._tell("exited", self.returncode)

    def _tell(self, what: str, status: int) -> None:
        if self._watcher is not None:
            self._watcher(self, what, status)

    @property
    def alive(self) -> bool:
        return not self.ended.is_set()

    def signal(self, number: int) -> None:
        """Sends a signal, if the process is still there."""
        if self.alive:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def kill(self) -> None:
        """kill -9 of the whole session; returns when it is gone."""
        if not self.alive:
            return
        self.signal(signal.SIGKILL)
        self.ended.wait()

    def terminate(self, grace: float) -> None:
        """SIGTERM, then after `grace` seconds kill -9."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        if not self.ended.wait(grace):
            self.kill()

    def last_lines(self, count: int = 5) -> str:
        """The end of its log, in one line; for errors."""
        try:
            lines = self.log.read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return " | ".join(line.strip()[:200] for line in lines[-count:])


def wait_until(condition: Callable[[], bool], seconds: float, step: float = 0.01) -> bool:
    """Asks until it is so; False when it was not within the time."""
    latest = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        if time.monotonic() >= latest:
            return False
        pause.wait(step)
    return True


def opens(host: str, port: int, greeting: bytes = b"") -> bool:
    """Whether a connection opens (and begins with the greeting)."""
    try:
        with socket.create_connection((host, port), timeout=1) as talk:
            talk.settimeout(1)
            return not greeting or talk.recv(len(greeting)) == greeting
    except OSError:
        return False
