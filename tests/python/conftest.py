"""Fixtures of the package's tests."""

from __future__ import annotations

from pathlib import Path

import mqlab
import pytest
from support import SCENARIO, Rows


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "embedder.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def scenario() -> mqlab.Scenario:
    return mqlab.Scenario(SCENARIO, "embedder.toml")


@pytest.fixture
def rows(scenario: mqlab.Scenario) -> Rows:
    return Rows(scenario)
