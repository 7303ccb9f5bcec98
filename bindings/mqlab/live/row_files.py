"""The rows that workers leave in mapped files, and the page by which the controller steers them.

The layouts are those of platform/row_file.h and platform/control_block.h.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mqlab import _core

Rows = NDArray[np.void]

HEADER_BYTES = 4096
_HEADER = struct.Struct("<QIHHQIIIIQ256s")
_MAGIC = int.from_bytes(b"MQLBROW1", "little")
_CONTROL_MAGIC = int.from_bytes(b"MQLBCTL1", "little")
_CONTROL_BYTES = 4096
STARTING, RUNNING, FINISHED, FAILED = range(4)


@dataclass(frozen=True)
class Header:
    process: int
    incarnation: int
    count: int
    state: int  # STARTING …
    idle: bool
    reading: bool  # what is sent to its inputs from now on is read as it comes
    halted: int  # 1 + the number of the fault whose anchor stopped the process; 0 = none
    halted_row: int
    reason: str


class RowFile:
    """Reads one worker's file, while it grows and afterwards."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def header(self) -> Header | None:
        """None: the file is not there yet, or not made."""
        try:
            with self.path.open("rb") as file:
                raw = file.read(_HEADER.size)
        except OSError:
            return None
        if len(raw) < _HEADER.size:
            return None
        fields = _HEADER.unpack(raw)
        magic, row_bytes, process, incarnation, count, state, idle, halted, reading, halted_row, reason = fields
        if magic != _MAGIC or row_bytes != _core.ROW.itemsize:
            return None
        text = reason.split(b"\0", 1)[0].decode(errors="replace")
        return Header(process, incarnation, count, state, bool(idle), bool(reading), halted, halted_row, text)

    def new_rows(self) -> Rows:
        """The rows that were published since the last call."""
        header = self.header()
        if header is None or header.count <= self._read:
            return np.empty(0, _core.ROW)
        rows = self._load(self._read, header.count)
        self._read += len(rows)
        return rows

    def all_rows(self) -> Rows:
        header = self.header()
        return np.empty(0, _core.ROW) if header is None else self._load(0, header.count)

    def _load(self, begin: int, end: int) -> Rows:
        size = _core.ROW.itemsize
        with self.path.open("rb") as file:
            file.seek(HEADER_BYTES + begin * size)
            raw = file.read((end - begin) * size)
        return np.frombuffer(raw[: len(raw) // size * size], _core.ROW)

    def problem(self, killed: bool) -> str:
        """Why the file cannot be taken for the whole of what its process wrote; empty when it can."""
        header = self.header()
        if header is None:
            return f"{self.path.name}: missing or not a row file"
        if self.path.stat().st_size < HEADER_BYTES + header.count * _core.ROW.itemsize:
            return f"{self.path.name}: cut short"
        if header.state == FAILED:
            return f"{self.path.name}: {header.reason}"
        if not killed and header.state not in (RUNNING, FINISHED):
            return f"{self.path.name}: its process never came to run"
        return ""


class ControlPage:
    """Which fault is armed, and when the workload begins."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(struct.pack("<QQq", _CONTROL_MAGIC, 0, 0).ljust(_CONTROL_BYTES, b"\0"))
        self._file = os.open(path, os.O_RDWR)
        self._page = mmap.mmap(self._file, _CONTROL_BYTES)

    def arm(self, fault: int) -> None:
        """Fault `fault` is waited for from now on; none of its matches has been seen. One aligned store."""
        self._page[8:16] = struct.pack("<Q", fault << 32)

    @property
    def armed(self) -> int:
        return int(struct.unpack_from("<Q", self._page, 8)[0]) >> 32

    @property
    def seen(self) -> int:
        """Rows that matched the armed fault so far."""
        return int(struct.unpack_from("<Q", self._page, 8)[0]) & 0xFFFF_FFFF

    def begin(self, at_ns: int) -> None:
        self._page[16:24] = struct.pack("<q", max(at_ns, 1))

    def close(self) -> None:
        self._page.close()
        os.close(self._file)


def open_ops(rows: Rows) -> Rows:
    """The first row of each effect of one incarnation that was started and has not ended, in order."""
    invoke = _core.PHASES.index("invoke")
    deliver = _core.KINDS.index("deliver")
    with_op = rows[rows["op"] > 0]
    started = with_op[with_op["phase"] == invoke]
    ended = with_op[(with_op["phase"] != invoke) & (with_op["kind"] != deliver)]["op"]
    _, first = np.unique(started["op"], return_index=True)  # a batch's header comes before its members
    started = started[np.sort(first)]
    still_open: Rows = started[~np.isin(started["op"], ended)]
    return still_open


def merged(parts: list[Rows]) -> Rows:
    """All rows by time; rows of one file keep their order."""
    filled = [part for part in parts if len(part)]
    whole: Rows = np.concatenate(filled) if filled else np.empty(0, _core.ROW)
    in_order: Rows = whole[np.argsort(whole["time"], kind="stable")]
    return in_order
