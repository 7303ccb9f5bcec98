"""Every notebook runs from its first cell to its last."""

from __future__ import annotations

from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient
from support import ROOT


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda path: path.stem)
# The kernel's client leaves sockets to the collector; that is its affair, not ours.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_runs(path: Path) -> None:
    notebook = jupytext.read(path)
    client = NotebookClient(notebook, timeout=200, kernel_name="python3", resources={"metadata": {"path": path.parent}})
    client.execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    kinds = {kind for cell in cells for output in cell.outputs for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml", "image/png"} <= kinds
