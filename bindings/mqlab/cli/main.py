"""`mqlab`: the commands, and how each ends. Bad input is one line and exit code 2, never a traceback."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING

from mqlab.cli import output
from mqlab.cli.usage import UsageError
from mqlab.errors import Error, HistoryError, ScenarioError
from mqlab.verdicts import EXIT_BAD_INPUT, EXIT_ENVIRONMENT

if TYPE_CHECKING:
    import typer

_INTERRUPTED = 130  # what typer makes of Ctrl-C

# Each command's file and function, or its group of commands. Only the one that is called is loaded.
_COMMANDS = {
    "run": "run.command",
    "verify": "verify.command",
    "replay": "replay.command",
    "compare": "compare.command",
    "sweep": "sweep.command",
    "check": "check.command",
    "matrix": "matrix.command",
    "mend": "mend.command",
    "lint": "lint.command",
    "conformance": "conformance.command",
    "broker": "broker.app",
    "modules": "catalogue.modules",
    "claims": "catalogue.claims",
    "brokers": "catalogue.brokers",
}


def app(arguments: Sequence[str]) -> typer.Typer:
    """The command line, as far as these arguments need it."""
    import typer

    commands = typer.Typer(
        help="Checks the claims of a message pipeline in a simulated world and on real brokers.",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit codes: 0 every claim as expected · 1 a claim is violated · 2 bad input · 3 undecided · "
        "4 the environment failed.",
    )
    commands.callback()(_group)
    for name in [arguments[0]] if arguments and arguments[0] in _COMMANDS else _COMMANDS:
        file, _, function = _COMMANDS[name].partition(".")
        command = getattr(import_module(f"mqlab.cli.{file}"), function)
        if isinstance(command, typer.Typer):
            commands.add_typer(command, name=name)
        else:
            commands.command(name)(command)
    return commands


def _group() -> None:
    """One command alone is a command, too."""


def main() -> None:
    """The console script."""
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(call(sys.argv[1:]))


def call(arguments: list[str]) -> int:
    """Runs one command line; returns its exit code."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except UsageError as error:
        return _complain(arguments, EXIT_BAD_INPUT, str(error))
    except ScenarioError as error:
        parts = {"file": error.file, "line": error.line, "path": error.path, "problem": error.problem}
        return _complain(arguments, EXIT_BAD_INPUT, str(error), parts)
    except HistoryError as error:
        return _complain(arguments, EXIT_BAD_INPUT, str(error))
    except Error as error:
        return _complain(arguments, EXIT_ENVIRONMENT, str(error))
    except OSError as error:
        return _complain(arguments, EXIT_ENVIRONMENT, f"{error.filename or 'mqlab'}: {error.strerror or error}")
    except MemoryError:
        return _complain(arguments, EXIT_ENVIRONMENT, "out of memory")
    except KeyboardInterrupt:
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        return _complain(arguments, EXIT_ENVIRONMENT, "interrupted; what was started has been stopped")
    return code


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["lint"]:  # editors call it at each save: typer alone takes longer to load than it to run
        from mqlab.cli import lint

        return lint.main(arguments[1:])
    import typer
    from typer.exceptions import TyperException

    try:
        return int(app(arguments)(arguments or ["--help"], prog_name="mqlab", standalone_mode=False) or 0)
    except TyperException as error:
        where = getattr(error, "ctx", None)
        raise UsageError(f"{where.command_path if where else 'mqlab'}: {error.format_message()}") from None
    except typer.Abort:
        raise KeyboardInterrupt from None


def _complain(arguments: list[str], code: int, message: str, parts: dict[str, object] | None = None) -> int:
    line = " ".join(message.split())
    output.err.print(line, style="red", markup=False, soft_wrap=True)
    if "--json" in arguments:
        output.print_json({"schema": "mqlab.error/1", "exit": code, "message": line, **(parts or {})})
    return code


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    """SIGTERM ends a command as Ctrl-C does: brokers and workers are stopped on the way out."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
