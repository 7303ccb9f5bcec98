"""Ports on loopback that nobody else takes between being chosen and being used."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

from mqlab.errors import BrokerError

# Below the kernel's ephemeral range (32768 and up), so that no outgoing connection gets one of them.
_FIRST, _LAST = 20_000, 32_000
_HOST = "127.0.0.1"


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
        return True


class Reservation:
    """Ports held against other runs of the lab on this machine, by a lock file each, until released."""

    def __init__(self, count: int) -> None:
        self.ports: list[int] = []
        self._locks: list[int] = []
        folder = Path(tempfile.gettempdir()) / f"mqlab-ports-{os.getuid()}"
        folder.mkdir(exist_ok=True)
        start = random.randrange(_FIRST, _LAST)
        for step in range(_LAST - _FIRST):
            if len(self.ports) == count:
                return
            port = _FIRST + (start - _FIRST + step) % (_LAST - _FIRST)
            self._try(folder, port)
        self.release()
        raise BrokerError(f"no {count} free ports between {_FIRST} and {_LAST} on {_HOST}")

    def _try(self, folder: Path, port: int) -> None:
        lock = os.open(folder / str(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return
        if is_free(port):
            self.ports.append(port)
            self._locks.append(lock)
        else:
            os.close(lock)

    def release(self) -> None:
        for lock in self._locks:
            os.close(lock)
        self._locks.clear()


class Fixed:
    """Ports a user asked for. Raises BrokerError when one is taken."""

    def __init__(self, ports: list[int]) -> None:
        for port in ports:
            if not is_free(port):
                raise BrokerError(f"port {port} on {_HOST} is taken")
        self.ports = ports

    def release(self) -> None:
        """Nothing is held."""
