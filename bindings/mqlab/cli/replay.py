"""`mqlab replay`: a stored story once more, in either world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from mqlab import confirm
from mqlab.cli import options, output, report
from mqlab.counterexample import read_counterexample


def command(
    counterexample: Annotated[Path, typer.Argument(metavar="COUNTEREXAMPLE", show_default=False)],
    world: options.In = options.World.sim,
    times: options.Times = 1,
    json: options.Json = False,
) -> int:
    """Run a stored counterexample again; with --world live, on the real broker."""
    story = read_counterexample(counterexample)
    verdicts = confirm.again(story, world=world.value, times=times, note=None if json else output.note)
    if json:
        output.print_json(verdicts.document())
    else:
        output.out.print(Text(report.setting_of(verdicts), "bold"))
        report.show_verdicts(verdicts)
    return verdicts.exit_code
