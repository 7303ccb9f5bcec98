"""Options that several commands share."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from mqlab.scenario import Override, Scenario, load


class World(StrEnum):
    sim = "sim"
    live = "live"


class Worlds(StrEnum):
    sim = "sim"
    live = "live"
    both = "both"


ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (TOML).", show_default=False)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a setting: stages.embed.instances=3. May be repeated."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="The seed of every random draw.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout and nothing else.")]
In = Annotated[World, typer.Option("--world", help="The simulated world, or real brokers.")]
Times = Annotated[int, typer.Option("--times", min=1, max=1000, help="How often a story is run on the real broker.")]


Driver = Annotated[
    Path | None,
    typer.Option("--driver", metavar="FILE", help="With a workload of OpenMessaging Benchmark (YAML): its driver."),
]
Duration = Annotated[
    str | None,
    typer.Option("--duration", metavar="TIME", help="In place of such a workload's testDurationMinutes: 10s."),
]


def split(text: str, option: str) -> Override:
    """PATH=VALUE in its two parts."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise typer.BadParameter(f"{text!r} is not of the form PATH=VALUE", param_hint=option)
    return path.strip(), value.strip()


def load_with(
    file: Path, changes: list[str] | None, driver: Path | None = None, duration: str | None = None
) -> Scenario:
    overrides = [split(change, "--set") for change in changes or []]
    scenario = load(file, driver=driver, duration=duration)
    return scenario.with_text(overrides) if overrides else scenario


def values(text: str) -> tuple[str, list[Any]]:
    """PATH=V1,V2: each value as TOML, bare words as strings; a comma inside brackets or quotes separates nothing."""
    path, listed = split(text, "--vary")
    try:
        return path, tomllib.loads(f"x = [{listed}]")["x"]
    except tomllib.TOMLDecodeError:
        return path, [_value(part.strip(), text) for part in listed.split(",")]


def _value(text: str, whole: str) -> Any:
    if not text:
        raise typer.BadParameter(f"{whole!r} has an empty value", param_hint="--vary")
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text
