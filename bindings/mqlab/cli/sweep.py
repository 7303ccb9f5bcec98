"""`mqlab sweep`: a table of runs over combinations of settings."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from mqlab.cli import options, output
from mqlab.sweeps import sweep, write_table
from mqlab.verdicts import EXIT_AS_EXPECTED, EXIT_UNDECIDED, EXIT_VIOLATED

if TYPE_CHECKING:
    import pandas as pd

_MEASURES = ("throughput", "latency_p50", "latency_p95", "latency_p99", "latency_max")


def command(
    scenario: options.ScenarioFile,
    vary: Annotated[list[str], typer.Option("--vary", metavar="PATH=V1,V2,…", help="A setting and its values.")],
    repeats: Annotated[int, typer.Option("--repeats", min=1, max=10_000, help="Runs of each, with other seeds.")] = 1,
    world: Annotated[options.Worlds, typer.Option("--world")] = options.Worlds.sim,
    seed: options.Seed = 1,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes; default: one a core.")] = None,
    set_: options.Set = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="TABLE.parquet", help="Write the table; a killed sweep goes on from it."),
    ] = None,
    json: options.Json = False,
) -> int:
    """Run a scenario over every combination of settings."""
    loaded = options.load_with(scenario, set_)
    varied = dict(options.values(text) for text in vary)
    store = out.with_name(out.name + ".cells") if out is not None else None
    with output.progress("runs", None) as bar:

        def advance(done: int, total: int) -> None:
            bar.update(bar.task_ids[0], completed=done, total=total)

        table = sweep(
            loaded,
            varied,
            repeats=repeats,
            world=world.value,
            seed=seed,
            jobs=jobs,
            store=store,
            progress=advance,
        )
    claims = [claim.scope for claim in loaded.core.claims]
    if out is not None and store is not None:
        write_table(table, out)
        shutil.rmtree(store, ignore_errors=True)
    if json:
        output.print_json({"schema": "mqlab.sweep/1", "table": str(out) if out else None, "rows": _plain(table)})
    else:
        output.out.print(_table(table, list(varied), claims))
        if out is not None:
            output.out.print(f"table  {out}", markup=False)
    return _exit_code(table, claims)


def _exit_code(table: pd.DataFrame, claims: list[str]) -> int:
    seen = {verdict for claim in claims for verdict in table[claim]}
    if "violated" in seen:
        return EXIT_VIOLATED
    return EXIT_UNDECIDED if "undecided" in seen else EXIT_AS_EXPECTED


def _plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON can hold them: no number for what is infinite or missing."""
    rows = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    return [{k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in row.items()} for row in rows]


def _table(table: pd.DataFrame, varied: list[str], claims: list[str]) -> Table:
    """Means over the repeats, one line a combination."""
    keys = [*varied, "world"]
    shown = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in (*_short(varied), "world"):
        shown.add_column(name, overflow="fold")
    for name in ("runs", "per s", *(m.removeprefix("latency_") for m in _MEASURES[1:])):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("claims", overflow="fold")
    for values, group in table.groupby(keys, sort=False):
        settings = [str(v) for v in (values if isinstance(values, tuple) else (values,))]
        numbers = [output.count(group["throughput"].mean())]
        numbers += [output.duration(group[m].mean()) for m in _MEASURES[1:]]
        shown.add_row(*settings, str(len(group)), *numbers, _tally(group, claims))
    return shown


def _short(paths: list[str]) -> list[str]:
    """The last part of each path, where that tells them apart."""
    last = [path.rsplit(".", 1)[-1] for path in paths]
    return last if len(set(last)) == len(last) else paths


def _tally(group: pd.DataFrame, claims: list[str]) -> str:
    """ "all hold", or each claim that does not, with how often."""
    odd = []
    for claim in claims:
        for verdict in ("violated", "undecided"):
            if times := int((group[claim] == verdict).sum()):
                odd.append(f"{claim.split(' ')[0]} {verdict}" + (f" {times}/{len(group)}" if len(group) > 1 else ""))
    return ", ".join(odd) or "all hold"
