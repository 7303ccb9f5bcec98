"""`mqlab mend`: the smallest change of settings that makes the violated claims hold, with its price."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mqlab.cli import options, output
from mqlab.mending import Mending, Price, mend
from mqlab.scenario import toml_value


def command(
    scenario: options.ScenarioFile,
    vary: Annotated[list[str], typer.Option("--vary", metavar="PATH=V1,V2,…", help="A setting and its values.")],
    claim: Annotated[list[str] | None, typer.Option("--claim", metavar="ID", help="Only these claims.")] = None,
    schedules: Annotated[int, typer.Option("--schedules", min=1, help="Of each search.")] = 2000,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, max=256, help="Threads; default: one a core.")] = None,
    seed: options.Seed = 1,
    set_: options.Set = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the mended scenario: the cheapest mend.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Find the smallest change of settings, out of a list, that makes the violated claims hold."""
    loaded = options.load_with(scenario, set_)
    varied = dict(options.values(text) for text in vary)
    with output.progress("changes", None) as bar:

        def advance(done: int, most: int) -> None:
            bar.update(bar.task_ids[0], completed=done, total=most)

        mending = mend(loaded, varied, claims=claim or (), schedules=schedules, jobs=jobs, seed=seed, progress=advance)
    if out is not None and mending.mends:
        out.write_text(mending.mends[0].scenario.to_toml(), encoding="utf-8")
    if json:
        output.print_json(mending.document())
    else:
        _show(mending, out)
    return mending.exit_code


def _show(mending: Mending, out: Path | None) -> None:
    if not mending.broken:
        output.out.print(f"nothing to mend in {mending.before.schedules:,} schedules", markup=False)
        return
    output.out.print(Text(f"broken  {'; '.join(mending.broken)}", "bold red"))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    table.add_column("")
    for title in (*mending.price.latency, "per s"):
        table.add_column(title, justify="right")
    table.add_row("as it is", *_cells(mending.price))
    for found in mending.mends:
        table.add_row(Text(_said(found.change), "bold green"), *_cells(found.price))
    output.out.print(table)
    held = f"{mending.before.schedules:,}" if not mending.mends else f"{mending.mends[0].verdicts.schedules:,}"
    if mending.mends:
        output.out.print(Text(f"holds over {held} schedules; {mending.tried} changes tried, none smaller works", "dim"))
    else:
        output.out.print(Text(f"nothing in the list mends it; {mending.tried} changes tried", "bold red"))
    for change, reason in mending.refused:
        output.out.print(Text(f"refused  {_said(change)}: {reason}", "dim"))
    if out is not None and mending.mends:
        output.out.print(f"mended  {out}", markup=False)


def _said(change: tuple[tuple[str, Any], ...]) -> str:
    return ", ".join(f"{path} = {toml_value(value)}" for path, value in change)


def _cells(price: Price) -> list[str]:
    return [*(output.duration(value) for value in price.latency.values()), output.count(price.throughput)]
