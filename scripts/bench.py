"""Collects the rows of the benchmark programs; started by scripts/bench.

A benchmark is a program `tests/bench/bench_NAME.py` or a built `bench_NAME`; it prints one JSON object a line:
name, value, unit and, where it ran a peer on the same work in the same run, peer and peer_value.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]


def programs() -> dict[str, list[str]]:
    scripts = sorted((ROOT / "tests/bench").glob("bench_*.py"))
    built = sorted(p for p in (ROOT / "build/release").rglob("bench_*") if p.is_file() and os.access(p, os.X_OK))
    found = {p.stem: [sys.executable, str(p)] for p in scripts} | {p.name: [str(p)] for p in built}
    return {name.removeprefix("bench_"): command for name, command in found.items()}


def rows_of(name: str, command: list[str]) -> list[dict[str, Any]]:
    print(f"· {name}", file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"benchmark {name} failed with exit code {done.returncode}")
    return [complete(json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]


def complete(row: dict[str, Any]) -> dict[str, Any]:
    value, peer_value = row["value"], row.get("peer_value")
    ratio = value / peer_value if peer_value else None
    return {
        "name": row["name"],
        "value": value,
        "unit": row["unit"],
        "peer": row.get("peer"),
        "peer_value": peer_value,
        "ratio": row.get("ratio", ratio),
    }


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, header_style="bold")
    for title in ("name", "value", "unit", "peer", "peer value", "ratio"):
        table.add_column(title, justify="left" if title in ("name", "unit", "peer") else "right")
    for row in rows:
        number = "" if row["peer_value"] is None else f"{row['peer_value']:,.4g}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        table.add_row(row["name"], f"{row['value']:,.4g}", row["unit"], row["peer"] or "", number, ratio)
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="runs the benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--json", action="store_true", help="one JSON array on stdout")
    options = parser.parse_args()
    available = programs()
    unknown = set(options.names) - set(available)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there is {', '.join(available) or 'none'}")
    rows = [row for name in options.names or available for row in rows_of(name, available[name])]
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        show(rows)


if __name__ == "__main__":
    main()
