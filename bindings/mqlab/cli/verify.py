"""`mqlab verify`: the search for schedules that break claims."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from mqlab import api
from mqlab.cli import options, output, report
from mqlab.junit import write_junit
from mqlab.scenario import Scenario
from mqlab.verdicts import Verdicts

_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def command(
    scenario: options.ScenarioFile,
    schedules: Annotated[int | None, typer.Option("--schedules", min=1, help="How many at most; default 2000.")] = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="How long at most: 30s, 5m.", show_default=False),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, max=256, help="Threads; default: one a core.")] = None,
    seed: options.Seed = 1,
    claim: Annotated[list[str] | None, typer.Option("--claim", metavar="ID", help="Only these claims.")] = None,
    world: options.In = options.World.sim,
    times: options.Times = 5,
    set_: options.Set = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where stories go; default: runs/NAME-verify.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML too.")
    ] = None,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Every order of the messages in flight; for small scenarios.")
    ] = False,
    json: options.Json = False,
) -> int:
    """Search for schedules that break the claims; with --world live, run what was found on the real broker."""
    loaded = options.load_with(scenario, set_)
    seconds = _seconds(for_) if for_ is not None else None
    most = schedules or (2000 if seconds is None and not exhaustive else 2**62)
    with output.progress("schedules", most if most < 2**62 else None) as bar:

        def advance(done: int, broken: int) -> None:
            bar.update(bar.task_ids[0], completed=done, more=f"{broken} broken" if broken else "")

        verdicts = api.verify(
            loaded, schedules=most, seconds=seconds, jobs=jobs, seed=seed, claims=claim or (), world=world.value,
            times=times, out=out, exhaustive=exhaustive, progress=advance, note=output.note,
        )  # fmt: skip
    if junit is not None:
        write_junit(verdicts, junit)
    if json:
        output.print_json(verdicts.document())
    else:
        show(loaded, verdicts)
    return verdicts.exit_code


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h)", text.strip())
    if found is None or float(found[1]) == 0:
        raise typer.BadParameter(f"{text!r} is not a duration above zero such as 30s, 5m or 1h", param_hint="--for")
    return float(found[1]) * _UNITS[found[2]]


def show(scenario: Scenario, verdicts: Verdicts) -> None:
    head = report.setting_of(verdicts) + f" · {output.plural(verdicts.schedules, 'schedule')}"
    searched = verdicts.searched
    if searched.get("anchors") and scenario.core.menu:
        head += f" · anchors {searched['anchors_reached']:,}/{searched['anchors']:,}"
        if searched.get("pairs"):
            head += f", pairs {_percent(searched['pairs'], searched['pairs_total'])}"
    output.out.print(Text(head, "bold"))
    if scenario.question:
        output.out.print(Text(scenario.question, "italic"))
    report.show_verdicts(verdicts)
    rate = verdicts.schedules_per_second
    if rate:
        output.out.print(Text(f"searched  {rate:,.0f} schedules/s, {_shapes(searched)}", "dim"))
        rounds = [f"{r['round']} {r['schedules']:,}" for r in searched.get("rounds", ()) if r["round"] != "reference"]
        if rounds:
            output.out.print(Text(f"rounds    {', '.join(rounds)}", "dim"))
    if "exhaustive" in searched:
        seen = "every order was seen" if searched["exhaustive"]["complete"] else "ended before every order was seen"
        output.out.print(Text(f"all       {seen}", "bold"))
    output.out.print(Text(verdicts.summary, "bold"), soft_wrap=True)


def _percent(part: int, whole: int) -> str:
    """Never 100 % before it is all."""
    return "all" if part >= whole else f"{min(99.9, 100 * part / whole):.2g} %"


def _shapes(searched: dict[str, Any]) -> str:
    """How many distinct histories, and how many of them the second half of the search added."""
    shapes, over = searched.get("shapes", 0), searched.get("shapes_over", [])
    text = output.plural(shapes, "shape")
    half = [known for schedules, known in over if 2 * schedules <= over[-1][0]]
    return f"{text}, {shapes - half[-1]:,} of them in the latter half" if half else text
