"""`mqlab matrix`: where model and real broker agree, claim by claim and fault by fault."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mqlab import matrices, result
from mqlab.cli import options, output
from mqlab.matrices import Matrix, matrix
from mqlab.scenario import load

_STYLE = {
    matrices.BOTH: "bold green", matrices.NONE: "green", matrices.OVER: "bold yellow", matrices.UNDER: "bold red",
    matrices.NOT_REPRODUCED: "yellow", matrices.UNDECIDED_LIVE: "yellow", matrices.SAME: "dim", matrices.CANNOT: "dim",
}  # fmt: skip


def command(
    scenarios: Annotated[list[Path], typer.Argument(metavar="SCENARIO…", show_default=False)],
    times: options.Times = 5,
    schedules: Annotated[int, typer.Option("--schedules", min=1, help="Of each search.")] = 1000,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, max=256, help="Threads; default: one a core.")] = None,
    seed: options.Seed = 1,
    held_out: Annotated[
        list[str] | None, typer.Option("--held-out", metavar="NAME", help="A scenario kept out of tuning.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Table, picture, stories, live histories.")] = Path(
        "runs/matrix"
    ),
    json: options.Json = False,
) -> int:
    """Ask the model and the real broker the same questions and count where they agree."""
    loaded = [load(path) for path in scenarios]
    names = {scenario.name for scenario in loaded}
    for name in held_out or ():
        if name not in names:
            raise typer.BadParameter(f"no scenario here is called {name!r}", param_hint="--held-out")
    done = matrix(
        loaded, times=times, schedules=schedules, jobs=jobs, seed=seed, held_out=held_out or (), out=out,
        note=output.note,
    )  # fmt: skip
    write(done, out)
    if json:
        output.print_json(done.document())
    else:
        show(done)
        output.out.print(f"table  {out / 'matrix.parquet'}\npicture {out / 'matrix.svg'}", markup=False)
    return done.exit_code


def write(done: Matrix, out: Path) -> None:
    from mqlab.matrix_picture import draw

    with result.disk(out):
        out.mkdir(parents=True, exist_ok=True)
        result.write_json(out / "matrix.json", done.document())
        done.table().to_parquet(out / "matrix.parquet")
        for suffix in ("svg", "png"):
            draw(done, out / f"matrix.{suffix}")


def show(done: Matrix) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in ("scenario", "claim", "fault", "live", "state"):
        table.add_column(title, overflow="fold")
    for cell in done.cells:
        live = f"{cell.violations} of {cell.runs}" if cell.runs else ""
        mark = " *" if cell.held_out else ""
        table.add_row(cell.scenario + mark, cell.claim, cell.fault, live, Text(cell.state, _STYLE[cell.state]))
    output.out.print(table)
    for cell in done.cells:
        if cell.state in (matrices.UNDER, matrices.OVER, matrices.NOT_REPRODUCED):
            output.out.print(Text(f"{cell.scenario} · {cell.claim} · {cell.fault}: {cell.detail}", _STYLE[cell.state]))
    counts = " · ".join(f"{state} {done.count(state)}" for state in matrices.STATES if done.count(state))
    output.out.print(counts, markup=False)
    output.out.print(f"agreement {_share(done.agreement())}, kept out of tuning {_share(done.agreement(True))} "
                     "(violated in both, of these and over- and under-predicted)", markup=False)  # fmt: skip


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
