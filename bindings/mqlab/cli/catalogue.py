"""`mqlab modules`, `mqlab claims`, `mqlab brokers`: what there is."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mqlab import catalogue
from mqlab.cli import options, output


def modules(json: options.Json = False) -> int:
    """List the modules, with their settings and defaults."""
    found = catalogue.modules()
    if json:
        output.print_json({"schema": "mqlab.modules/1", "modules": found})
        return 0
    for module in found:
        output.out.print(f"[bold]{module['name']}[/]  {module['meaning']}")
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2))
        for setting in module["settings"]:
            table.add_row("", setting["name"], setting["default"], setting["meaning"])
        output.out.print(table)
    output.out.print('A class of your own: module = "FILE.py:Class", a subclass of mqlab.Module.', markup=False)
    return 0


def claims(json: options.Json = False) -> int:
    """List the claims: when each holds, and its parameters."""
    found = catalogue.claims()
    if json:
        output.print_json({"schema": "mqlab.claims/1", "claims": found})
        return 0
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for claim in found:
        table.add_row(Text(claim["claim"], "bold"), f"{claim['definition']}; judged {claim['judged']}")
        table.add_row("", Text(claim["parameters"], "dim"))
    output.out.print(table)
    return 0


class Client(StrEnum):
    java = "java"
    librdkafka = "librdkafka"


Kind = Annotated[str | None, typer.Argument(metavar="[KIND]", help="Its settings instead.", show_default=False)]
Release = Annotated[str | None, typer.Option("--version", help="Defaults of this version; else of the newest.")]
Of = Annotated[Client, typer.Option("--flavour", help="Whose client settings, for Kafka.")]


def brokers(
    kind: Kind = None, version: Release = None, flavour: Of = Client.librdkafka, json: options.Json = False
) -> int:
    """List the brokers that can be simulated and run; with KIND, every setting of that one and its clients."""
    if kind is not None:
        return _settings(kind, version, flavour.value, json)
    found = catalogue.brokers()
    if json:
        output.print_json({"schema": "mqlab.brokers/1", "brokers": found})
        return 0
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in ("broker", "versions", "nodes", "worlds", "client", "live here"):
        table.add_column(title)
    for broker in found:
        table.add_row(
            broker["kind"], ", ".join(broker["versions"]), broker["nodes"], ", ".join(broker["worlds"]),
            ", ".join(broker["clients"]), broker["live_here"],
        )  # fmt: skip
    output.out.print(table)
    return 0


def _settings(kind: str, version: str | None, flavour: str, json: bool) -> int:
    try:
        found = catalogue.settings(kind, version, flavour)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="KIND") from None
    if json:
        output.print_json({"schema": "mqlab.settings/1", "kind": kind, "settings": found})
        return 0
    for scope in dict.fromkeys(setting["scope"] for setting in found):
        of = [setting for setting in found if setting["scope"] == scope]
        output.out.print(f"[bold]{scope}[/]  [dim]{of[0]['source']}[/]")
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2))
        for setting in of:
            meaning = f"the same as {setting['alias_of']}" if setting["alias_of"] else setting["effect"]
            shown = meaning if setting["modelled"] else f"{meaning}{' ' if meaning else ''}(not modelled)"
            table.add_row("", setting["key"], Text(setting["default"]), Text(shown))
        output.out.print(table)
    return 0
