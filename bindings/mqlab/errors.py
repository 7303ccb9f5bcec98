"""What can go wrong, each with what a caller needs to act on it. All are `mqlab.Error`."""

from __future__ import annotations


class Error(Exception):
    """The root of every error the package raises on purpose."""


class ScenarioError(Error):
    """Bad input, in one line: file, line, key, what is wrong, what would be right.

    `file`: as the user named it. `line`: from 1; 0 where it is not known. `path`: the key, such as
    "stages.embed.instances"; empty where it is the file as a whole. `problem`: the rest of the line.
    """

    def __init__(self, file: str, line: int, path: str, problem: str) -> None:
        self.file, self.line, self.path, self.problem = file, line, path, problem
        where = f"{file}:{line}" if line > 0 else file
        super().__init__(f"{where}: {path}: {problem}" if path else f"{where}: {problem}")

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[str, int, str, str]]:
        return type(self), (self.file, self.line, self.path, self.problem)  # it crosses process boundaries


class BrokerError(Error):
    """The environment failed: a broker did not start, a port is taken, a program or the disk's room is missing."""


class HistoryError(Error):
    """A history or result folder that cannot be read as one: cut short, of another version, or not one at all."""
