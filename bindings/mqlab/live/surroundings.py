"""What the faults of a run need around the brokers, and why this machine may not give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mqlab.errors import BrokerError

REQUEST_ACTIONS = {"delay", "drop_response", "reset"}  # done by the proxy, to one request
DISK_ACTIONS = {"disk_full", "fsync_error"}
FOR_GOOD = {"scale_out", "scale_in", "add_partitions"}  # what operators do to a stage or a topic
_NEED_DISKS = {"disk_full", "power_loss"}
_AROUND_BROKERS = {*REQUEST_ACTIONS, *DISK_ACTIONS, "partition"}


class CannotRunLive(BrokerError):  # noqa: N818  # the name says what it is
    """A fault that only the simulated world can do, or that this machine refuses."""


@dataclass(frozen=True)
class Surroundings:
    disks: bool = False  # each node's data on a disk that can lose power and fill up
    network: bool = False  # a private network whose links can be cut
    proxies: bool = False  # clients reach brokers through the lab's proxy
    syncs: bool = False  # a node's fsyncs can be made to fail


PLAIN = Surroundings()


def surroundings_of(
    faults: Sequence[Mapping[str, Any]], processes: Sequence[Mapping[str, Any]], *, external: bool = False
) -> Surroundings:
    """What these (described) faults need. Raises CannotRunLive, naming the fault, where it cannot be had: on an
    `external` cluster, what would harm it or needs something around it."""
    for fault in faults:
        _check(fault)
        if external and (fault["action"] in _AROUND_BROKERS or _hits_broker(fault, processes)):
            raise CannotRunLive(
                f"{fault['action']}: on a cluster of your own only clients are killed, paused, restarted"
            )
    actions = {fault["action"] for fault in faults}
    needed = Surroundings(
        disks=any(fault["action"] in _NEED_DISKS and _hits_broker(fault, processes) for fault in faults),
        network="partition" in actions,
        proxies=bool(actions & REQUEST_ACTIONS),
        syncs="fsync_error" in actions,
    )
    if needed.network and needed.proxies:
        raise CannotRunLive(
            "partition together with delay, drop_response or reset: the live world does one or the other"
        )
    _possible(needed, actions)
    return needed


def _check(fault: Mapping[str, Any]) -> None:
    if fault["action"] == "clock_jump":
        raise CannotRunLive("clock_jump: a fault of the simulated world only")
    if not fault["timed"] and not fault["portable"]:
        raise CannotRunLive(f"{fault['step']}: an anchor of the simulated world only")
    if fault["action"] in REQUEST_ACTIONS and not str(fault["step"]).startswith("request."):
        raise CannotRunLive(f"{fault['action']}: it happens to a request; anchor it at a step request.…")


def _hits_broker(fault: Mapping[str, Any], processes: Sequence[Mapping[str, Any]]) -> bool:
    return fault["leader_of"] is not None or any(processes[t]["role"] == "broker" for t in fault["targets"])


def _possible(needed: Surroundings, actions: set[str]) -> None:
    from mqlab.live import disks, namespaces, syncs

    of_disks = ", ".join(sorted(actions & _NEED_DISKS))
    for wanted, action, why_not in (
        (needed.disks, of_disks, disks.why_not),
        (needed.network, "partition", namespaces.why_not),
        (needed.syncs, "fsync_error", syncs.why_not),
    ):
        reason = why_not() if wanted else ""
        if reason:
            raise CannotRunLive(f"{action}: {reason}")
