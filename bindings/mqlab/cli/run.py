"""`mqlab run`: one run, one result folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqlab import api
from mqlab.cli import options, output, report


def command(
    scenario: options.ScenarioFile,
    world: options.In = options.World.sim,
    seed: options.Seed = 1,
    set_: options.Set = None,
    driver: options.Driver = None,
    duration: options.Duration = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The result folder; default: a new one under runs/."),
    ] = None,
    json: options.Json = False,
) -> int:
    """Run a scenario once and write a result folder."""
    loaded = options.load_with(scenario, set_, driver, duration)
    target = out or unused(Path("runs"), f"{loaded.name}-{world}-seed{seed}")
    done = api.run(loaded, world=world.value, seed=seed, progress=None if json else output.note)
    done.save(target)
    if json:
        output.print_json(
            {
                "schema": "mqlab.run/1",
                "folder": str(target),
                "result": done.result_document(),
                "verdicts": done.verdicts.document(),
            }
        )
    else:
        report.show_run(done)
    return done.verdicts.exit_code


def unused(parent: Path, name: str) -> Path:
    """parent/name, numbered where that is taken."""
    number = 1
    while (target := parent / (name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    return target
