"""Operation histories: sends, polls and transactions with offsets, as Jepsen's Kafka workload writes them.

One JSON object: `ops`, each with `i` (its number, dense, from 0), `time`, `process`, `type` (invoke, ok, fail, info: it
may or may not have happened), `f` (send, poll, txn with `mops`; assign, subscribe with `keys`; crash). A send has
`key`, `offset` (null: not known) and `value`; a poll `records`, null when it was only asked for. Each operation is a
transaction of its process: its sends take effect together or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mqlab.foreign.build import Foreign, Ids, Parties, Rows, Source, is_name

Key = str | int
_TYPES = {"invoke": "invoke", "ok": "ok", "fail": "fail", "info": "unknown"}
_WITH_MOPS, _WITH_KEYS = ("send", "poll", "txn"), ("assign", "subscribe")
_LOG_CLAIMS = (
    "log.offsets_consistent", "log.no_poll_skip", "log.monotonic_poll", "log.monotonic_send", "log.no_send_skip",
    "log.no_duplicates", "log.no_lost_write", "log.no_aborted_read", "log.no_precommitted_read",
)  # fmt: skip


@dataclass(frozen=True)
class Mop:
    send: bool
    key: Key = ""
    offset: int | None = None
    value: Key = ""
    records: tuple[tuple[Key, int, Key], ...] | None = None


@dataclass(frozen=True)
class Operation:
    number: int
    time: int
    process: Key
    type: str
    f: str
    mops: tuple[Mop, ...] = ()
    keys: tuple[Key, ...] = ()


def read(document: dict[str, Any], file: str) -> Foreign:
    """Turns a parsed document into rows. Raises HistoryError that names the operation."""
    operations = _Reader(file).operations(document)
    processes, keys = _distinct(o.process for o in operations), _distinct(k for o in operations for k in _keys_of(o))
    place_of = {key: _topic(key, number) for number, key in enumerate(keys)}
    parties = Parties(
        topics=dict.fromkeys(place_of.values(), 1),
        senders={f"p{number}": next(iter(place_of.values()), "unnamed") for number in range(len(processes))},
    )
    writer = _Writer(Rows(parties.scenario(file)), {p: f"p{n}" for n, p in enumerate(processes)}, place_of)
    for operation in operations:
        writer.write(operation)
    rows = writer.finish(operations[-1].time if operations else 0)
    claims: dict[str, object] = dict.fromkeys(_LOG_CLAIMS, True)
    write_order = bool(document.get("options", {}).get("ww_deps", True))
    if write_order:
        claims["log.no_write_cycle"] = True
    claims["log.no_information_cycle"] = {"writes": write_order}
    return Foreign(
        rows.history(), claims, tuple(writer.ids.names), tuple(rows.operations),
        {f"{name}/0": key for key, name in place_of.items()},
    )  # fmt: skip


def _topic(key: Key, number: int) -> str:
    return f"{key}" if is_name(f"{key}") else f"key-{number}"


def _distinct(values: Any) -> list[Key]:
    return list({(type(v), v): v for v in values}.values())


def _keys_of(operation: Operation) -> list[Key]:
    keys = list(operation.keys)
    for mop in operation.mops:
        keys += [mop.key] if mop.send else [key for key, _, _ in mop.records or ()]
    return keys


class _Reader:
    """Checks the form; every complaint names the operation."""

    def __init__(self, file: str) -> None:
        self._source = Source(file)
        self._at = ""

    def operations(self, document: dict[str, Any]) -> list[Operation]:
        found: list[Operation] = []
        listed = document.get("ops")
        if not isinstance(listed, list):
            raise self._fail('"ops" must be a list of operations')
        if not isinstance(document.get("options", {}), dict):
            raise self._fail('"options" must be an object')
        for number, value in enumerate(listed):
            self._at = f"ops[{number}]: "
            operation = self._operation(value)
            if operation.number != number:
                raise self._fail(f'"i" must be {number}: operations are numbered from 0, each once')
            if found and operation.time < found[-1].time:
                raise self._fail('"time" must not fall')
            found.append(operation)
        return found

    def _operation(self, value: object) -> Operation:
        if not isinstance(value, dict):
            raise self._fail("an operation must be an object")
        kind, f = value.get("type"), value.get("f")
        if kind not in _TYPES:
            raise self._fail(f'"type" must be one of {", ".join(_TYPES)}')
        if f not in (*_WITH_MOPS, *_WITH_KEYS, "crash"):
            raise self._fail(f'"f" must be one of {", ".join((*_WITH_MOPS, *_WITH_KEYS, "crash"))}')
        mops = tuple(self._mop(m) for m in self._list(value, "mops")) if f in _WITH_MOPS else ()
        keys = tuple(self._key(k, "keys") for k in self._list(value, "keys")) if f in _WITH_KEYS else ()
        return Operation(
            self._whole(value.get("i"), "i"), self._whole(value.get("time"), "time"),
            self._key(value.get("process"), "process"), kind, f, mops, keys,
        )  # fmt: skip

    def _mop(self, value: object) -> Mop:
        if not isinstance(value, dict) or value.get("f") not in ("send", "poll"):
            raise self._fail('each of "mops" must be an object with "f": send or poll')
        if value["f"] == "send":
            offset = value.get("offset")
            known = None if offset is None else self._whole(offset, "offset")
            return Mop(True, self._key(value.get("key"), "key"), known, self._key(value.get("value"), "value"))
        records = value.get("records")
        if records is None:
            return Mop(False)
        if not isinstance(records, list):
            raise self._fail('"records" must be null or a list')
        return Mop(False, records=tuple(self._record(r) for r in records))

    def _record(self, value: object) -> tuple[Key, int, Key]:
        if not isinstance(value, dict):
            raise self._fail("a record must be an object with key, offset and value")
        return (
            self._key(value.get("key"), "key"), self._whole(value.get("offset"), "offset"),
            self._key(value.get("value"), "value"),
        )  # fmt: skip

    def _list(self, value: dict[str, Any], key: str) -> list[Any]:
        found = value.get(key)
        if not isinstance(found, list):
            raise self._fail(f'"{key}" must be a list')
        return found

    def _whole(self, value: object, key: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise self._fail(f'"{key}" must be a whole number, 0 or more')
        return value

    def _key(self, value: object, key: str) -> Key:
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise self._fail(f'"{key}" must be a string or a whole number')
        return value

    def _fail(self, problem: str) -> Exception:
        return self._source.fail(0, self._at + problem)


class _Writer:
    def __init__(self, rows: Rows, processes: dict[Key, str], topics: dict[Key, str]) -> None:
        self._rows, self._processes, self._topics = rows, processes, topics
        self.ids = Ids()
        self._op = 0
        self._invoked: dict[Key, Operation] = {}  # by process: what it is at and has not ended
        self._held: dict[Key, set[Key]] = {}  # by process: the keys it has met since the last assignment

    def write(self, o: Operation) -> None:
        self._rows.operation(o.number)
        held = self._held.setdefault(o.process, set())
        if o.type == "invoke":
            self._invoked[o.process] = o
            return
        self._invoked.pop(o.process, None)
        if o.f in _WITH_KEYS:
            if o.type != "fail":
                for key in sorted(held - set(o.keys), key=str):
                    self._row(o, "revoking", place=self._place(key))
                self._held[o.process] = held & set(o.keys)
        elif o.f in _WITH_MOPS:
            self._end(o)
            held.update(_keys_of(o))

    def _end(self, o: Operation) -> None:
        """Sends are asked for where the operation began, by what the end knows of them; then all that came of it."""
        phase, transaction = _TYPES[o.type], o.number + 1
        for mop in o.mops:
            self._op += 1
            if mop.send:
                message, place = self.ids((mop.key, mop.value), mop.value), self._place(mop.key)
                common = {"op": self._op, "message": message, "place": place, "transaction": transaction}
                self._row(o, "publish", "invoke", **common)
                position = -1 if mop.offset is None else mop.offset
                self._row(o, "publish", phase, position=position, **common)
                continue
            for key, offset, value in mop.records or ():
                self._row(
                    o, "deliver", op=self._op, message=self.ids((key, value), value), place=self._place(key),
                    position=offset, transaction=transaction,
                )  # fmt: skip
        outcome = "abort_transaction" if o.type == "fail" else "commit_transaction"
        self._row(o, outcome, "ok" if o.type == "fail" else phase, transaction=transaction)

    def finish(self, time: int) -> Rows:
        """Operations without an end may have happened; then the source has no more to tell."""
        for o in self._invoked.values():
            self._rows.operation(o.number)
            self._end(replace(o, time=time, type="info"))
        self._rows.add(time, "lab", "quiet")
        return self._rows

    def _place(self, key: Key) -> str:
        return f"{self._topics[key]}/0"

    def _row(self, o: Operation, kind: str, phase: str = "ok", **values: Any) -> None:
        self._rows.add(o.time, self._processes[o.process], kind, phase, **values)
