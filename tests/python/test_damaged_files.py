"""Files that mqlab wrote and something changed: a stored story and a result folder are read, or refused in one line."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import mqlab
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqlab.runs import read_run
from support import SCENARIO, call

PIECES = [
    b"", b"\n", b'"', b"[", b"]", b"{", b"}", b"=", b",", b"-1", b"1e9", b"99999999999999999999", b"true", b"null",
    b"\xff", b"\x00", b"[counterexample]", b"seed = 1\n", b"messages = [0]\n", b"[[fault]]\n", b"nth = 0",
]  # fmt: skip
BOUNDED = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def damaged(content: bytes, seed: int) -> bytes:
    choose = random.Random(seed)
    changed = bytearray(content)
    for _ in range(choose.randint(1, 4)):
        at = choose.randrange(len(changed) + 1)
        changed[at : at + choose.choice([0, 1, 1, 5, 40])] = choose.choice(PIECES)
    return bytes(changed)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("story")
    verdicts = mqlab.verify(mqlab.Scenario(SCENARIO, "embedder.toml"), schedules=400, out=folder)
    found = verdicts["no_duplicates"].counterexample
    assert found is not None
    return found.path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mqlab.run(mqlab.Scenario(SCENARIO, "embedder.toml")).save(tmp_path_factory.mktemp("run") / "result")


@BOUNDED
@given(seed=st.integers(0, 2**32))
def test_a_damaged_story_is_read_or_refused(seed: int, story: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ce.toml"
    path.write_bytes(damaged(story, seed))
    try:
        read = mqlab.read_counterexample(path)
        assert len(read.masked()) < 20
        read.core_schedule()
    except mqlab.ScenarioError as error:
        assert str(error).startswith(str(path))
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("seed = 1", "seed = -1", "counterexample.seed: must be a whole number of 64 bits, from 0 on"),
        ("seed = 1", "seed = 18446744073709551616", "counterexample.seed: must be a whole number of 64 bits"),
        ("seed = 1", "seed = 1.5", "counterexample.seed: must be a whole number"),
        ("seed = 1", 'seed = "1"', "counterexample.seed: must be a whole number"),
        ("seed = 1\n", "", "counterexample.seed: is missing"),
        ("zero_jitter = true", "zero_jitter = 1", "counterexample.zero_jitter: must be true or false"),
        ("messages = [", "messages = [21, ", "counterexample.messages: must be a list of requests' ids, 1 to 20"),
        ("messages = [", "messages = [true, ", "counterexample.messages"),
        ("seed = 1", 'seed = 1\norder = "18446744073709551616"', "counterexample.order: must be a 64 bit number"),
        ("seed = 1", "seed = 1\novertakes = [[1]]", "counterexample.overtakes: must be a list of pairs"),
        ("seed = 1", "seed = 1\novertakes = [[-1, 2]]", "counterexample.overtakes: must be a list of pairs"),
        ('claim = "no_duplicates', 'claim = "no_duplicate', "counterexample.claim: must be the scope of a claim"),
        ("story = [", "story = [3, ", "counterexample.story: must be a list of sentences"),
        ("zero_jitter = true", "zero_jitter =", "counterexample: Invalid value"),
    ],
)
def test_a_mistake_in_a_story_is_named_with_its_line(
    right: str, wrong: str, says: str, story: bytes, tmp_path: Path
) -> None:
    text = story.decode()
    head, mark, table = text.partition("\n[counterexample]\n")
    assert table.count(right) == 1
    path = tmp_path / "ce.toml"
    path.write_text(head + mark + table.replace(right, wrong))
    called = call("replay", path)
    assert (called.code, called.out) == (2, "")
    assert says in called.err
    assert called.err.count("\n") == 1
    line = int(called.err.removeprefix(f"{path}:").partition(":")[0])
    first = text[: text.index("[counterexample]")].count("\n") + 1
    key = says.partition(":")[0].rpartition(".")[2]
    rows = enumerate(path.read_text().splitlines()[first:], first + 1)
    assert line == next((number for number, row in rows if row.startswith(f"{key} =")), first)


@BOUNDED
@given(
    seed=st.integers(0, 2**32),
    name=st.sampled_from(["environment.json", "result.json", "verdicts.json", "history.parquet", "scenario.toml"]),
)
def test_a_damaged_result_is_read_or_refused(seed: int, name: str, folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    (copy / name).write_bytes(damaged((folder / name).read_bytes(), seed))
    try:
        assert read_run(copy).verdicts is not None
    except mqlab.Error as error:
        assert str(copy) in str(error)
        assert "\n" not in str(error)
