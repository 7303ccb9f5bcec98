"""Becomes the program given as arguments, bound to the parent's life: the kernel kills it when the parent ends.

Run by path with an isolated interpreter, before anything of the package is imported.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    parent, program, *rest = arguments
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit(4)  # it ended before the kernel was told
    os.execvp(program, [program, *rest])


if __name__ == "__main__":
    main(sys.argv[1:])
