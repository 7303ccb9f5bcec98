"""Disks that fail: an ext4 image for each broker node, mounted for that node's process alone.

Full: a file beside the broker's takes every free block, those that only root may take too.

Power loss: the process is stopped, the file system shut down without flushing its log (EXT4_IOC_SHUTDOWN, flag
NOLOGFLUSH, fs/ext4/ioctl.c), the process killed. What the file system had not written to the image is gone.

The mount lives in a mount namespace of the node's own process, so nothing is left mounted when it ends, however it
ends. Loop devices and mounts need root.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path

from mqlab.errors import BrokerError
from mqlab.live.processes import wait_until

_EXT4_IOC_SHUTDOWN = 0x8004587D
_NO_LOG_FLUSH = 2
_BYTES = 2 << 30  # sparse
_PROGRAMS = ("mkfs.ext4", "losetup", "mount", "unshare")
_FILLER = "filler"
_BLOCK = 4096
# In a namespace of its own: mount the image, then become the program. exec keeps the process id.
_MOUNT = 'mount -t ext4 -o loop,noatime "$0" "$1" && rm -f "$1/$2" && shift 2 && exec "$@"'


def why_not() -> str:
    """Why disks cannot be made here; empty when they can."""
    if os.geteuid() != 0:
        return "needs root: the broker's data lies on a loop-mounted image"
    missing = [name for name in _PROGRAMS if _found(name) is None]
    if missing:
        return f"needs {', '.join(missing)} (Debian: e2fsprogs, mount, util-linux)"
    if not Path("/dev/loop-control").exists():
        return "needs loop devices: this system has none"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "needs a mount namespace, which this system refuses"


def _found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _take_all(file: int, end: int) -> int:
    """Lets a file of `end` bytes grow by what is free; its bytes then."""
    step = _BYTES
    while step >= _BLOCK:
        try:
            os.posix_fallocate(file, end, step)
            end += step
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            step //= 2
    return end


class Disk:
    """One node's disk. `folder` is where its process sees it; elsewhere it looks empty."""

    def __init__(self, image: Path, folder: Path) -> None:
        self.image, self.folder = image, folder
        self.full = False

    def make(self, contents: Path) -> None:
        """An image that holds a copy of `contents`. Raises BrokerError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.image.open("wb") as file:
            file.truncate(_BYTES)
        command = ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", "-d", str(contents), str(self.image)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BrokerError(f"{self.image.name}: {done.stderr.strip().splitlines()[-1]}")

    def command(self, program: list[str]) -> list[str]:
        """Runs `program` with the disk mounted."""
        unshared = ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", _MOUNT]
        return [*unshared, str(self.image), str(self.folder), "" if self.full else _FILLER, *program]

    def sync(self, process: int) -> None:
        """Everything written so far is safe."""
        seen = os.open(f"/proc/{process}/root{self.folder}", os.O_RDONLY | os.O_DIRECTORY)
        try:
            if ctypes.CDLL(None, use_errno=True).syncfs(seen) != 0:
                raise BrokerError(f"{self.image.name}: syncfs failed: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(seen)

    def fill(self, process: int) -> None:
        """No block is free any more, until make_room(). What the process had written before is safe."""
        self.full = True
        self.sync(process)  # what is in the page cache only has yet to get its blocks
        filler = os.open(self._filler(process), os.O_WRONLY | os.O_CREAT)
        try:
            taken, end = 0, -1
            while end < taken:  # blocks given back meanwhile are free once the file system's log is committed
                end = taken
                taken = _take_all(filler, end)
                self.sync(process)
        finally:
            os.close(filler)

    def make_room(self, process: int | None) -> None:
        """`process`: that sees it; None when none runs, then there is room when the next one starts."""
        self.full = False
        if process is not None:
            self._filler(process).unlink(missing_ok=True)

    def _filler(self, process: int) -> Path:
        return Path(f"/proc/{process}/root{self.folder}") / _FILLER

    def cut_power(self, process: int) -> None:
        """The file system that this (stopped) process sees takes no write any more. Kill the process next."""
        seen = os.open(f"/proc/{process}/root{self.folder}", os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(seen, _EXT4_IOC_SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(seen)

    def wait_unmounted(self, seconds: float = 10.0) -> None:
        """The kernel lets go of the image shortly after its process ended. Raises BrokerError."""
        if not wait_until(lambda: not self._attached(), seconds):
            raise BrokerError(f"{self.image.name}: still mounted {seconds:.0f} s after its process ended")

    def _attached(self) -> bool:
        done = subprocess.run(["losetup", "-j", str(self.image)], capture_output=True, text=True, check=False)
        return bool(done.stdout.strip())
