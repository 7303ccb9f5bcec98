"""A private network: each process of a run has a network namespace with one address, all on one bridge.

Links are cut one way at a time by a neighbour entry with an address nobody has: packets leave and never arrive, as on
a broken switch; a connection is not refused, it hangs. Nothing is reachable from outside, and since a namespace lives
as long as the process that holds it, nothing is left when the lab ends, however it ends. Needs root.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.live.processes import Child, opens, wait_until

_SUBNET = "10.77.0"
_NOWHERE = "02:4d:51:ff:ff:ff"
_CLONE_NEWNET = 0x40000000
_HOLD = ["sleep", "infinity"]  # what holds a namespace open; the guard ties its life to the lab's


def why_not() -> str:
    """Why a private network cannot be made here; empty when it can."""
    if os.geteuid() != 0:
        return "needs root: each process gets a network namespace"
    missing = [name for name in ("ip", "nsenter", "unshare") if shutil.which(name) is None]
    if missing:
        return f"needs {', '.join(missing)} (Debian: iproute2, util-linux)"
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "needs a network namespace, which this system refuses"


class Member:
    """One process's place in the network."""

    def __init__(self, number: int, holder: Child) -> None:
        self.number, self.holder = number, holder
        self.address = f"{_SUBNET}.{number}"

    def command(self, program: list[str]) -> list[str]:
        """Runs `program` there; the process id stays."""
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--", *program]

    def can_connect(self, address: str, port: int, greeting: bytes = b"") -> bool:
        """Whether a connection from here opens (and begins with the greeting)."""
        return _from_namespace(self.holder.pid, lambda: opens(address, port, greeting))


def _from_namespace(process: int, question: Callable[[], bool]) -> bool:
    """Asks on a thread of its own: a thread's network namespace is its own affair."""
    answers: list[bool] = []

    def work() -> None:
        with Path(f"/proc/{process}/ns/net").open() as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET) == 0:
                answers.append(question())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return bool(answers and answers[0])


def _namespace(process: int) -> str:
    try:
        return str(Path(f"/proc/{process}/ns/net").readlink())
    except OSError:
        return _namespace(os.getpid())  # it is gone: nothing may be done in its name


class PrivateNetwork:
    """Make it, add members, stop() it. Members are numbered from 1."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.members: dict[int, Member] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._hub = self._held("hub")
        self._ip(self._hub, ["link add br0 type bridge", "link set br0 up", "link set lo up"])

    def member(self, number: int) -> Member:
        """The member with this number, made when it is new. Raises BrokerError."""
        found = self.members.get(number)
        if found is None:
            found = self.members[number] = self._add(number)
        return found

    def _add(self, number: int) -> Member:
        holder = self._held(f"member-{number}")
        member = Member(number, holder)
        port = f"p{number}"
        self._ip(
            self._hub,
            [
                f"link add {port} type veth peer name eth0 netns {holder.pid}",
                f"link set {port} master br0",
                f"link set {port} up",
            ],
        )
        self._ip(holder, [f"addr add {member.address}/24 dev eth0", "link set eth0 up", "link set lo up"])
        return member

    def cut(self, sender: int, receiver: int) -> None:
        """What `sender` sends to `receiver` is lost from now on."""
        peer = self.member(receiver).address
        self._ip(self.member(sender).holder, [f"neigh replace {peer} lladdr {_NOWHERE} dev eth0 nud permanent"])

    def join(self, sender: int, receiver: int) -> None:
        """Undoes cut()."""
        self._ip(self.member(sender).holder, [f"neigh del {self.member(receiver).address} dev eth0"])

    def stop(self) -> None:
        for holder in [*(member.holder for member in self.members.values()), self._hub]:
            holder.kill()
        self.members.clear()

    def _held(self, name: str) -> Child:
        log = self._folder / f"{name}.log"
        holder = Child(name, ["unshare", "--net", "--", *_HOLD], log=log)
        wait_until(lambda: not holder.alive or _namespace(holder.pid) != _namespace(os.getpid()), 20.0)
        if not holder.alive or _namespace(holder.pid) == _namespace(os.getpid()):
            holder.kill()
            raise BrokerError(f"the network namespace of {name} was not made: {holder.last_lines()}")
        return holder

    @staticmethod
    def _ip(holder: Child, commands: Iterable[str]) -> None:
        done = subprocess.run(
            ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "--", "ip", "-batch", "-"],
            input="\n".join(commands) + "\n", capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise BrokerError(f"the private network: {done.stderr.strip().splitlines()[0]}")
