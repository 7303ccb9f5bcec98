"""What a reader of the whole tree relies on: small files, nothing left for later, no test that does not run."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = {".h", ".cc", ".py", ".pyi", ".sh", ".cmake", ".java"}


def tracked() -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = [ROOT / name for name in names.split("\0") if name]
    return [path for path in paths if path.is_file()]


FILES = tracked()
CODE_FILES = [path for path in FILES if path.suffix in CODE or path.parent.name in {"scripts", ".ci"}]


def lines_with(pattern: str, files: list[Path]) -> list[str]:
    wanted = re.compile(pattern)
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if wanted.search(line)
    ]


def test_files_are_short() -> None:
    long = {
        path.relative_to(ROOT).as_posix(): count
        for path in CODE_FILES
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert long == {}


# The words are put together, so that this file does not find itself.
def test_nothing_is_left_for_later() -> None:
    words = "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK", "NotImplemented" + "Error"))
    assert lines_with(rf"\b({words})\b", CODE_FILES) == []


def test_no_test_is_skipped_or_cannot_fail() -> None:
    words = "|".join(
        (
            "GTEST_" + "SKIP",
            "DISABLED" + "_",
            r"mark\.sk" + "ip",
            r"mark\.x" + "fail",
            r"pytest\.sk" + "ip",
            "importor" + "skip",
            r"EXPECT_TRUE\(tr" + r"ue\)",
            "assert Tr" + "ue$",
        )
    )
    assert lines_with(words, [path for path in CODE_FILES if "tests" in path.parts]) == []


def test_no_test_waits_for_time_to_pass() -> None:
    assert lines_with(r"sleep_f" + r"or|time\.sl" + r"eep\(", [p for p in CODE_FILES if "tests" in p.parts]) == []


def test_planted_defects_are_in_no_product() -> None:
    """Switches for tests of the search (core/base/plant.h): what users run has neither them nor their names."""
    header = (ROOT / "core/base/plant.h").read_text(encoding="utf-8")
    names = re.findall(r"X\((\w+)\)", header.partition("enum class")[0])
    assert len(names) > 40
    package = ROOT / "bindings/mqlab"
    product = [*package.glob("_core*.so"), package / "bin/mqlab-worker"]
    assert len(product) >= 2
    for path in product:
        content = path.read_bytes()
        assert [name for name in [*names, "plant_in_force"] if name != "none" and name.encode() in content] == []


def test_no_path_of_one_machine() -> None:
    text = [p for p in FILES if p.suffix in CODE | {".toml", ".md", ".txt", ".json", ".ipynb"}]
    assert lines_with(r"(?<![\w./$~}])/(wor" + r"k|roo" + r"t|hom" + r"e)/\w", text) == []


@pytest.mark.parametrize("name", ["demo", "test", "bench", "setup"])
def test_commands_can_be_run(name: str) -> None:
    assert (ROOT / "scripts" / name).stat().st_mode & 0o111


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "scripts/requirements.txt").read_text().splitlines()
        if "==" in line
    }
    assert {re.split(r"[<>=]", name)[0] for name in wanted} - pinned == set()


def test_continuous_integration_runs_the_tests() -> None:
    assert "scripts/test" in (ROOT / ".ci/run").read_text()
