"""`mqlab modules`, `mqlab claims`, `mqlab brokers`: what there is."""

from __future__ import annotations

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


def brokers(json: options.Json = False) -> int:
    """List the brokers that can be simulated and run."""
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
