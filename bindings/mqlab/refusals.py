"""Who was not let in: a consumer that its group will not have waits for ever; what it should have read looks lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mqlab.history import History

# org.apache.kafka.common.protocol.Errors: what the coordinator says to one who wants to join → the setting to look at.
_REFUSED = {
    23: ("INCONSISTENT_GROUP_PROTOCOL", "partition.assignment.strategy or group.protocol differs from the others'"),
    26: (
        "INVALID_SESSION_TIMEOUT",
        "session.timeout.ms is not between the broker's group.min.session.timeout.ms and group.max.session.timeout.ms",
    ),
    30: ("GROUP_AUTHORIZATION_FAILED", "the broker's access rules do not let it into the group"),
    81: ("GROUP_MAX_SIZE_REACHED", "the broker's group.max.size is reached"),
    82: ("FENCED_INSTANCE_ID", "another member has its group.instance.id"),
    111: ("UNRELEASED_INSTANCE_ID", "another member still has its group.instance.id"),
}


def refusals(record: History) -> list[str]:
    """A sentence for each process that its group refused, in the order of the history."""
    said: dict[tuple[int, int], str] = {}
    failed = record.where("fetch", "fail")
    for process, code in zip(failed["process"].tolist(), failed["code"].tolist(), strict=True):
        if code in _REFUSED and (process, code) not in said:
            name, why = _REFUSED[code]
            said[process, code] = f"{record.processes[process]} may not join its group: {name}: {why}"
    return list(said.values())
