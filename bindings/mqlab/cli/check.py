"""`mqlab check`: the claims on a history that exists already."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from mqlab.checking import check
from mqlab.cli import options, output, report

_SHOWN = 10  # anomalies of one claim


class Format(StrEnum):
    jsonl = "jsonl"
    operations = "operations"
    csv = "csv"
    parquet = "parquet"


def command(
    history: Annotated[Path, typer.Argument(metavar="HISTORY", help="A history file.", show_default=False)],
    claim: Annotated[
        list[str] | None,
        typer.Option("--claim", metavar="ID", help="A claim, alone or as 'ID={ key = value }'. May be repeated."),
    ] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="Default: by the file's ending, see docs/history.md.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Check claims on a history from elsewhere, or of an earlier run."""
    verdicts = check(history, claim or (), format_.value if format_ else None)
    if json:
        output.print_json(verdicts.document())
        return verdicts.exit_code
    report.show_verdicts(verdicts)
    for verdict in verdicts:
        for anomaly in verdict.anomalies[:_SHOWN]:
            facts = ", ".join(f"{name} {value}" for name, value in anomaly.items() if name != "anomaly")
            output.out.print(Text(f"  {anomaly['anomaly']}  ", "bold").append(facts, "default"))
    output.out.print(Text(f"exit {verdicts.exit_code}", "dim"), justify="right")
    return verdicts.exit_code
