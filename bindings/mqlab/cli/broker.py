"""`mqlab broker`: a local real broker, unprivileged, on loopback only."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mqlab.cli import options, output

if TYPE_CHECKING:
    from mqlab.live import brokers

app = typer.Typer(help="Put a local real broker up, down, or ask for its state.")


class Kind(StrEnum):
    kafka = "kafka"
    nats = "nats"


Which = Annotated[Kind, typer.Argument(metavar="KIND", help="kafka or nats", show_default=False)]


@app.command("up")
def up(
    kind: Which,
    nodes: Annotated[int, typer.Option("--nodes", help="1 or 3.")] = 1,
    version: Annotated[str, typer.Option("--version", help="Default: the newest there is.")] = "",
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="The first port; default: free ones.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Start a broker that stays until `down`."""
    from mqlab.live import brokers

    standing = brokers.up(kind.value, nodes, version, port)
    return _show(_state(standing), json)


@app.command("down")
def down(kind: Which, json: options.Json = False) -> int:
    """Stop the broker that `up` started and delete its data."""
    from mqlab.live import brokers

    was_up = brokers.down(kind.value)
    if json:
        output.print_json({"schema": "mqlab.broker/1", "kind": kind.value, "up": False, "was_up": was_up})
    else:
        output.out.print(f"{kind.value} is down" if was_up else f"{kind.value} was not up")
    return 0


@app.command("status")
def status(kind: Which, json: options.Json = False) -> int:
    """Tell whether the broker is up, and where."""
    from mqlab.live import brokers

    standing = brokers.status(kind.value)
    if standing is None or not standing.alive:
        return _show({"kind": kind.value, "up": False}, json)
    return _show(_state(standing), json)


def _state(standing: brokers.Standing) -> dict[str, Any]:
    return {
        "kind": standing.kind,
        "up": True,
        "version": standing.version,
        "address": standing.address,
        "nodes": len(standing.pids),
        "nodes_alive": len(standing.alive),
        "folder": standing.folder,
    }


def _show(state: dict[str, Any], json: bool) -> int:
    if json:
        output.print_json({"schema": "mqlab.broker/1", **state})
    elif not state["up"]:
        output.out.print(f"{state['kind']} is not up")
    else:
        alive = f"{state['nodes_alive']} of {state['nodes']} nodes"
        output.out.print(
            f"{state['kind']} {state['version']} at {state['address']}  ({alive}; data in {state['folder']})"
        )
    return 0
