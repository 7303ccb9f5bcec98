"""Fixtures of the package's tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import mqlab
import pytest

hypothesis.settings.register_profile("lab", deadline=None)  # how long an example takes is for benchmarks
hypothesis.settings.load_profile("lab")

pytest.register_assert_rewrite("live_support", "support")  # a helper's failed assertion says what it saw

from support import SCENARIO, Rows  # noqa: E402  # after the line above


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> Iterator[None]:
    """Processes that tests start can be interrupted, even where the tests run in the background of a shell, which
    has them ignore SIGINT and hands that down to every process below."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
