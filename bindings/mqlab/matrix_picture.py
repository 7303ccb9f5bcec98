"""The agreement matrix as a picture: a row a claim, a column a fault, a colour a state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mqlab import matrices
from mqlab.matrices import Cell, Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    matrices.BOTH: "#1d6f42", matrices.NONE: "#d7ead9", matrices.OVER: "#f2a33a", matrices.UNDER: "#c81e1e",
    matrices.NOT_REPRODUCED: "#c9c3dd", matrices.UNDECIDED_LIVE: "#fff3bf", matrices.SAME: "#eef1f4",
    matrices.CANNOT: "#ffffff",
}  # fmt: skip
_DARK = (matrices.BOTH, matrices.UNDER)


def draw(matrix: Matrix, path: Path) -> None:
    """Writes .svg or .png, by the name's end."""
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys((c.scenario, c.claim) for c in matrix.cells))
    columns = list(dict.fromkeys((c.fault, c.anchors) for c in matrix.cells))
    figure = Figure(figsize=(6 + 1.25 * len(columns), 1.9 + 0.36 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for cell in matrix.cells:
        _draw_cell(axes, cell, columns.index((cell.fault, cell.anchors)), rows.index((cell.scenario, cell.claim)))
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xticks(range(len(columns)), [_column(*c) for c in columns], fontsize=9)
    held = {(c.scenario, c.claim) for c in matrix.cells if c.held_out}
    axes.set_yticks(range(len(rows)), [_row(r, r in held) for r in rows], fontsize=9)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
    _legend(axes, matrix)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)


def _draw_cell(axes: Axes, cell: Cell, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    edge = "#7b8794" if cell.state == matrices.CANNOT else "white"
    axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=_COLOURS[cell.state], edgecolor=edge))
    colour = "white" if cell.state in _DARK else "#1f2933"
    axes.text(x, y, _short(cell), ha="center", va="center", fontsize=8, color=colour)


def _short(cell: Cell) -> str:
    if cell.state in (matrices.SAME, matrices.CANNOT):
        return "–" if cell.state == matrices.SAME else "cannot"
    return f"{cell.violations} of {cell.runs}"


def _column(fault: str, anchors: str) -> str:
    return "no fault" if fault == matrices.NO_FAULT else f"{fault.replace('_', ' ')}\n{anchors}"


def _row(row: tuple[str, str], held_out: bool) -> str:
    return f"{row[0]} · {row[1]}" + (" *" if held_out else "")


def _legend(axes: Axes, matrix: Matrix) -> None:
    from matplotlib.patches import Patch

    used = [state for state in matrices.STATES if matrix.count(state)]
    patches = [
        Patch(facecolor=_COLOURS[state], edgecolor="#7b8794", label=f"{state} ({matrix.count(state)})")
        for state in used
    ]
    axes.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.4, -0.01), ncols=3, frameon=False, fontsize=8,
                title="live runs that broke the claim, of all · * kept out of tuning", title_fontsize=8)  # fmt: skip
