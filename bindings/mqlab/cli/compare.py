"""`mqlab compare`: both worlds of a scenario, or two results, side by side."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mqlab import api
from mqlab.cli import options, output, report
from mqlab.cli.run import unused
from mqlab.comparison import Comparison
from mqlab.omb.result import OmbResult, read_omb_result
from mqlab.runs import Run, read_run


def command(
    what: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCENARIO | RUN_A RUN_B",
            help="Result folders, or result files (.json) of OpenMessaging Benchmark.",
            show_default=False,
        ),
    ],
    driver: options.Driver = None,
    duration: options.Duration = None,
    seed: options.Seed = 1,
    set_: options.Set = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep both result folders in here: sim/ and live/."),
    ] = None,
    json: options.Json = False,
) -> int:
    """Compare both worlds of a scenario, or two result folders, per quantile and per claim."""
    if len(what) == 1:
        scenario = options.load_with(what[0], set_, driver, duration)
        compared = api.compare(scenario, seed=seed, progress=None if json else output.note)
        folder = out or unused(Path("runs"), f"{scenario.name}-compare-seed{seed}")
        for run in compared.runs:
            run.save(folder / run.world)
    elif len(what) == 2 and not (set_ or out):
        compared = Comparison(_result(what[0]), _result(what[1]))
    else:
        raise typer.BadParameter("give one scenario (with --set, --seed, --out), or two result folders")
    if json:
        output.print_json(compared.document())
    else:
        show(compared)
    return compared.exit_code


def _result(path: Path) -> Run | OmbResult:
    return read_omb_result(path) if path.suffix == ".json" else read_run(path)


def show(compared: Comparison) -> None:
    a, b = _name(compared, 0), _name(compared, 1)
    for run in (compared.a, compared.b):
        output.out.print(Text(_heading(run), "bold"))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    table.add_column("")
    for title in (a, b, f"{b} ÷ {a}"):
        table.add_column(title, justify="right")
    for m in compared.figures:
        if _beyond(m.name, min((len(run.latency) for run in compared.runs), default=1 << 62)):
            continue
        form = output.count if m.name == "throughput" else output.duration
        table.add_row(m.name, form(m.a), form(m.b), "–" if math.isnan(m.ratio) else f"{m.ratio:.2f}")
    output.out.print(table)
    claims = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    for title in ("claim", a, b, ""):
        claims.add_column(title)
    for judged in compared.claims:
        agreed = "" if judged.agree or None in (judged.a, judged.b) else "differ"
        claims.add_row(judged.claim, judged.a or "–", judged.b or "–", Text(agreed, "bold red"))
    if compared.claims:
        output.out.print(claims)
    for run in compared.runs:
        if run.folder is not None:
            output.out.print(f"result  {run.folder}", markup=False)


def _beyond(figure: str, requests: int) -> bool:
    """A quantile that so few requests cannot tell from the maximum."""
    name = figure.rsplit(" ", 1)[-1]
    return name.startswith("p") and name[1:2].isdigit() and requests * (1 - float(name[1:]) / 100) < 1


def _heading(run: Run | OmbResult) -> str:
    if isinstance(run, OmbResult):
        return f"{run.driver} · OpenMessaging Benchmark · {run.workload} · {run.windows} windows"
    return report.setting_of(run.verdicts)


def _name(compared: Comparison, which: int) -> str:
    names = ["OMB" if isinstance(run, OmbResult) else run.world for run in (compared.a, compared.b)]
    if names[0] == names[1]:
        return "ab"[which]
    return {"sim": "simulated", "live": "live"}.get(names[which], names[which])
