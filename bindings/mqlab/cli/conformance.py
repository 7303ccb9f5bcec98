"""`mqlab conformance`: facts about brokers, shown in a world."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mqlab.cli import options, output
from mqlab.cli.usage import UsageError
from mqlab.conformance import runner
from mqlab.conformance.runner import Outcome
from mqlab.conformance.suite import KINDS, load_suite
from mqlab.verdicts import EXIT_AS_EXPECTED, EXIT_VIOLATED

_STYLE = {"agrees": "green", "differs": "bold red", "cannot": "dim", "other-version": "dim"}


def command(
    kinds: Annotated[
        list[str] | None, typer.Argument(metavar="[KIND]…", help="kafka, nats; default: all.", show_default=False)
    ] = None,
    world: options.In = options.World.sim,
    address: Annotated[
        str, typer.Option("--address", metavar="A", help="Live: a cluster of your own. It is never harmed.")
    ] = "",
    fact: Annotated[list[str] | None, typer.Option("--fact", metavar="ID", help="Only these facts.")] = None,
    json: options.Json = False,
) -> int:
    """Hold facts about brokers and clients against the model, a local real broker, or your own cluster."""
    wanted = tuple(kinds) if kinds else KINDS
    for kind in wanted:
        if kind not in KINDS:
            raise UsageError(f"mqlab conformance: {kind!r}: there is {' and '.join(KINDS)}")
    where = "live" if address else world.value
    if address and len(wanted) != 1:
        raise UsageError("mqlab conformance: an address is one cluster's: name its KIND")
    entries = load_suite().of(wanted, tuple(fact or ()))
    outcomes = runner.run(entries, where, address, output.note)
    if json:
        output.print_json(runner.document(where, outcomes))
    else:
        show(where, outcomes)
    return EXIT_VIOLATED if any(one.result == runner.DIFFERS for one in outcomes) else EXIT_AS_EXPECTED


def show(world: str, outcomes: list[Outcome]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("fact", "result", "what is so, or why not"):
        table.add_column(name, overflow="fold")
    for one in outcomes:
        more = one.entry.says
        if one.result == runner.DIFFERS:
            more = f"expected {one.expected}\nobserved {one.observed}"
        elif one.result != runner.AGREES:
            more = one.observed
        table.add_row(one.entry.fact, Text(one.result, _STYLE[one.result]), Text(more))
    output.out.print(table)
    counted = Counter(one.result for one in outcomes)
    told = ", ".join(f"{counted[name]} {name}" for name in _STYLE if counted[name])
    output.out.print(Text(f"{output.plural(len(outcomes), 'fact')} in the {world} world: {told}", "bold"))
