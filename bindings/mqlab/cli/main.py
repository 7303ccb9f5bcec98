"""`mqlab`: the commands, and how each ends. Bad input is one line and exit code 2, never a traceback."""

from __future__ import annotations

import signal
import sys
from types import FrameType

import typer
from typer.exceptions import TyperException

from mqlab.cli import broker, catalogue, compare, output, replay, run, sweep, verify
from mqlab.errors import Error, HistoryError, ScenarioError
from mqlab.verdicts import EXIT_BAD_INPUT, EXIT_ENVIRONMENT

_INTERRUPTED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    help="Checks the claims of a message pipeline in a simulated world and on real brokers.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 every claim as expected · 1 a claim is violated · 2 bad input · 3 undecided · "
    "4 the environment failed.",
)
app.command("run")(run.command)
app.command("verify")(verify.command)
app.command("replay")(replay.command)
app.command("compare")(compare.command)
app.command("sweep")(sweep.command)
app.add_typer(broker.app, name="broker")
app.command("modules")(catalogue.modules)
app.command("claims")(catalogue.claims)
app.command("brokers")(catalogue.brokers)


def main() -> None:
    """The console script."""
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(call(sys.argv[1:]))


def call(arguments: list[str]) -> int:
    """Runs one command line; returns its exit code."""
    try:
        code = int(app(arguments or ["--help"], prog_name="mqlab", standalone_mode=False) or 0)
        sys.stdout.flush()
    except TyperException as error:
        where = getattr(error, "ctx", None)
        return _complain(arguments, EXIT_BAD_INPUT, f"{where.command_path if where else 'mqlab'}: {_text(error)}")
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
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        return _complain(arguments, EXIT_ENVIRONMENT, "interrupted; what was started has been stopped")
    return code


def _complain(arguments: list[str], code: int, message: str, parts: dict[str, object] | None = None) -> int:
    line = " ".join(message.split())
    output.err.print(line, style="red", markup=False, soft_wrap=True)
    if "--json" in arguments:
        output.print_json({"schema": "mqlab.error/1", "exit": code, "message": line, **(parts or {})})
    return code


def _text(error: TyperException) -> str:
    return error.format_message()


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    """SIGTERM ends a command as Ctrl-C does: brokers and workers are stopped on the way out."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
