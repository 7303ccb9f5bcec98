"""Plain logs of producers and consumers: a CSV table, a line each thing that happened.

Columns, by name in the first line: `time` (nanoseconds, rising), `process`, `op`, `topic`, `partition`, `offset`, `id`.
The ops:

  send        the application asks for the record to be sent
  ack         it is stored at this offset · fail: it certainly is not · unknown: nobody was told
  receive     the record reaches the process
  assigned, revoked   the process gains or loses the partition
  quiet       everything has come to rest
  audit       a record that a last reading of the partition found, in order · audited: that reading is over

A field that an op has no use for is empty. `id` tells records apart: any text.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from mqlab.foreign.build import Foreign, Ids, Parties, Rows, Source, fits, is_name

COLUMNS = ("time", "process", "op", "topic", "partition", "offset", "id")
_RECORD = ("send", "ack", "fail", "unknown", "receive", "audit")  # have an id
_AT_OFFSET = ("ack", "receive", "audit")
_OPS = (*_RECORD, "assigned", "revoked", "quiet", "audited")
_AUDITOR = ("audit", "audited", "quiet")
_MOST_PARTITIONS = 4096
_CLAIMS = (
    "log.offsets_consistent", "log.no_poll_skip", "log.monotonic_poll", "log.monotonic_send", "log.no_duplicates",
    "log.no_lost_write", "log.no_aborted_read",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    number: int
    time: int
    process: str
    op: str
    topic: str
    partition: int
    offset: int
    id: str

    @property
    def place(self) -> str:
        return f"{self.topic}/{self.partition}" if self.topic else ""


def read(text: str, file: str) -> Foreign:
    """Turns a table into rows. Raises HistoryError that names the line."""
    lines = _Reader(file).lines(text)
    parties, names = _parties(lines)
    writer = _Writer(Rows(parties.scenario(file)), names, file)
    for line in lines:
        writer.write(line)
    return Foreign(
        writer.rows.history(), dict.fromkeys(_CLAIMS, True), tuple(writer.ids.names), tuple(writer.rows.operations)
    )


def _parties(lines: list[Line]) -> tuple[Parties, dict[tuple[str, bool], str]]:
    """A process that sends and reads is two parties: `worker` and `worker-reads`."""
    parties = Parties()
    names: dict[tuple[str, bool], str] = {}
    senders = {line.process for line in lines if _sends(line)}
    for line in lines:
        if line.topic:
            parties.topics[line.topic] = max(parties.topics.get(line.topic, 1), line.partition + 1)
        if line.op in _AUDITOR:
            continue
        sends = _sends(line)
        name = line.process if sends or line.process not in senders else f"{line.process}-reads"
        names[line.process, sends] = name
        (parties.senders if sends else parties.readers).setdefault(name, line.topic)
    return parties, names


def _sends(line: Line) -> bool:
    return line.op in ("send", "ack", "fail", "unknown")


class _Reader:
    def __init__(self, file: str) -> None:
        self._source = Source(file)

    def lines(self, text: str) -> list[Line]:
        table = csv.reader(io.StringIO(text, newline=""), strict=True)
        found: list[Line] = []
        try:
            header = next(table, [])
            if sorted(header) != sorted(COLUMNS):
                raise self._source.fail(1, f"the first line must name the columns {','.join(COLUMNS)}")
            for cells in table:
                if cells:
                    found.append(self._line(table.line_num, header, cells))
                if len(found) > 1 and found[-1].time < found[-2].time:
                    raise self._source.fail(table.line_num, "time: must not fall")
        except csv.Error as error:
            raise self._source.fail(table.line_num, f"this is no CSV: {error}") from None
        return found

    def _line(self, number: int, header: list[str], cells: list[str]) -> Line:
        if len(cells) != len(header):
            raise self._source.fail(number, f"{len(cells)} fields, the first line names {len(header)}")
        field = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        op, process, topic = field["op"], field["process"], field["topic"]
        if op not in _OPS:
            raise self._source.fail(number, f"op: must be one of {', '.join(_OPS)}, not {op[:40]!r}")
        for name, value, needed in (("process", process, op not in _AUDITOR), ("topic", topic, op != "quiet")):
            if (value or needed) and not is_name(value):
                raise self._source.fail(number, f"{name}: {value[:40]!r} is no name: letters, digits, '.', '_' or '-'")
        if op in _RECORD and not field["id"]:
            raise self._source.fail(number, f"id: is needed for {op}")
        placed = op in _AT_OFFSET or op in ("assigned", "revoked", "audited")
        partition = self._whole(number, "partition", field["partition"], placed, 0)
        if partition >= _MOST_PARTITIONS:
            raise self._source.fail(number, f"partition: must be below {_MOST_PARTITIONS}")
        return Line(
            number, self._whole(number, "time", field["time"], True, 0), process, op, topic, partition,
            self._whole(number, "offset", field["offset"], op in _AT_OFFSET, -1), field["id"],
        )  # fmt: skip

    def _whole(self, line: int, name: str, text: str, needed: bool, absent: int) -> int:
        if not text and not needed:
            return absent
        if not (text.isascii() and text.isdigit()) or int(text) >= 2**63:
            raise self._source.fail(line, f"{name}: must be a whole number, 0 or more, not {text[:40]!r}")
        return int(text)


class _Writer:
    def __init__(self, rows: Rows, names: dict[tuple[str, bool], str], file: str) -> None:
        self.rows, self._names, self._source = rows, names, Source(file)
        self.ids = Ids()
        self._op = 0
        self._open: dict[tuple[str, int], list[int]] = {}  # sends without an end, by process and id
        self._found: dict[str, int] = {}  # records a last reading found, by place

    def write(self, line: Line) -> None:
        self.rows.operation(line.number)
        message = self.ids(line.id, line.id) if line.id else 0
        if not fits(message):
            raise self._source.fail(line.number, "too many different ids")
        name = self._names.get((line.process, _sends(line)), line.process)
        if line.op == "send":
            self._send(line, name, message)
        elif line.op in ("ack", "fail", "unknown"):
            self._settle(line, name, message)
        elif line.op == "receive":
            self._op += 1
            self.rows.add(line.time, name, "fetch", op=self._op, aux=1, flags=["header"])
            self._at(line, name, "deliver", message, op=self._op)
        elif line.op in ("assigned", "revoked"):
            self._at(line, name, "assigned" if line.op == "assigned" else "revoking", 0)
        elif line.op == "quiet":
            self.rows.add(line.time, "lab", "quiet")
        elif line.op == "audit":
            self._found[line.place] = self._found.get(line.place, 0) + 1
            self._at(line, "auditor", "audit", message)
        else:
            self._at(line, "auditor", "audit_end", 0, aux=self._found.get(line.place, 0))

    def _send(self, line: Line, name: str, message: int) -> None:
        self._op += 1
        first = (name, message) not in self._open
        self._open.setdefault((name, message), []).append(self._op)
        if first:
            self.rows.add(line.time, name, "invoke", message=message, aux=line.time)
        self.rows.add(line.time, name, "publish", "invoke", op=self._op, message=message)

    def _settle(self, line: Line, name: str, message: int) -> None:
        waiting = self._open.get((name, message))
        if not waiting:
            raise self._source.fail(line.number, f"{line.op}: {line.process} has no open send of id {line.id[:40]!r}")
        phase = "ok" if line.op == "ack" else line.op
        place, position = (line.place, line.offset) if line.op == "ack" else ("", -1)
        self.rows.add(
            line.time, name, "publish", phase, op=waiting.pop(0), message=message, place=place, position=position
        )

    def _at(self, line: Line, name: str, kind: str, message: int, *, op: int = 0, aux: int = 0) -> None:
        self.rows.add(line.time, name, kind, op=op, message=message, place=line.place, position=line.offset, aux=aux)
