"""Bad input: exit code 2 and one line with file, line and key; never a traceback."""

from __future__ import annotations

from pathlib import Path

import mqlab
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import SCENARIO, Called, call


def one_line(called: Called) -> str:
    assert called.code == 2, called
    assert called.out == ""
    assert "Traceback" not in called.err
    assert called.err.count("\n") == 1, called.err
    return called.err.strip()


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


# what is written instead of what → what the complaint must name: key, and what would be right
WRONG = {
    "misspelt key": ("messages = 20", "mesages = 20", ("mesages", "messages")),
    "misspelt broker property": ('version = "4.1"', 'properties = { "min.isr" = 1 }', ("min.isr",)),
    "misspelt client property": ('"auto.offset.reset"', '"auto.offset.rest"', ("auto.offset.reset",)),
    "wrong unit": ('rate = "1000/s"', 'rate = "1000/parsec"', ("rate",)),
    "unknown module": ('module = "stage"', 'module = "stgae"', ("stgae", "stage")),
    "unknown broker": ('kind = "kafka"', 'kind = "kafak"', ("kafak", "kafka")),
    "unknown topic": ('input = "requests"', 'input = "request"', ("request",)),
    "unknown claim": ("no_loss =", "no_los =", ("no_los", "no_loss")),
    "negative rate": ('rate = "1000/s"', "rate = -5", ("rate",)),
    "rate that is no number": ('rate = "1000/s"', "rate = nan", ("rate",)),
    "infinite rate": ('rate = "1000/s"', "rate = inf", ("rate",)),
    "negative count": ("messages = 20", "messages = -20", ("messages",)),
    "no instance": ("instances = 2", "instances = 0", ("instances",)),
    "too many partitions": ("partitions = 2", "partitions = 2000000000", ("partitions",)),
    "a number where a name belongs": ('name = "embed"', "name = 7", ("name",)),
    "duplicate names": ('[[observers]]', '[[topics]]\nname = "requests"\n\n[[observers]]', ("requests",)),
    "duplicate keys": ("messages = 20", "messages = 20\nmessages = 21", ("messages",)),
    "more replicas than nodes": ('name = "requests"\n', 'name = "requests"\nreplication = 3\n', ("replication",)),
    "not TOML": ("[workload]", "[workload", ()),
}  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "named"), WRONG.values(), ids=WRONG.keys())
def test_names_file_line_and_key(scenario_file: Path, right: str, wrong: str, named: tuple[str, ...]) -> None:
    text = SCENARIO.replace(right, wrong, 1)
    assert text != SCENARIO
    scenario_file.write_text(text)
    complaint = one_line(call("verify", scenario_file.name, cwd=scenario_file.parent))
    file, line, rest = complaint.split(":", 2)
    assert file == scenario_file.name
    assert abs(int(line) - line_of(text, wrong)) <= 1 + wrong.count("\n")
    for name in named:
        assert name in rest


@pytest.mark.parametrize("command", ["run", "verify", "compare"])
def test_a_missing_file(command: str, tmp_path: Path) -> None:
    assert "nowhere.toml: cannot be read: No such file or directory" in one_line(
        call(command, tmp_path / "nowhere.toml")
    )


def test_a_folder_for_a_file(tmp_path: Path) -> None:
    assert "cannot be read" in one_line(call("run", tmp_path))


def test_100_megabytes_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    with path.open("wb") as file:
        file.truncate(100 << 20)
    assert "104,857,600 bytes" in one_line(call("run", path, timeout=20))


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "x = " + "{ a = " * 50_000, "[" + "a." * 100_000 + "b]"])
def test_deep_nesting(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text)
    assert str(path) in one_line(call("run", path))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(bytes(range(256)) * 10)
    assert "is not UTF-8 text" in one_line(call("run", path))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--set", "stages.embed.instance=3"), "stages.embed.instance"),
        (("--set", "stages.embd.instances=3"), "embd"),
        (("--set", "no equals sign"), "PATH=VALUE"),
        (("--seed", "-1"), "--seed"),
        (("--world", "dream"), "--world"),
        (("--colour",), "--colour"),
    ],
)
def test_bad_options(scenario_file: Path, arguments: tuple[str, ...], named: str) -> None:
    assert named in one_line(call("run", scenario_file, *arguments))


@pytest.mark.parametrize("duration", ["", "soon", "-3s", "0s", "5", "1e99 s"])
def test_bad_durations(scenario_file: Path, duration: str) -> None:
    one_line(call("verify", scenario_file, f"--for={duration}"))


def test_a_claim_that_the_scenario_does_not_make(scenario_file: Path) -> None:
    complaint = one_line(call("verify", scenario_file, "--claim", "no_los"))
    assert "no_los" in complaint
    assert "no_loss" in complaint


def test_a_scenario_is_no_counterexample(scenario_file: Path) -> None:
    assert "is a scenario, not a counterexample" in one_line(call("replay", scenario_file))


def test_json_tells_the_parts(scenario_file: Path) -> None:
    scenario_file.write_text(SCENARIO.replace("messages = 20", "mesages = 20"))
    called = call("run", scenario_file, "--json")
    assert called.code == 2
    assert called.json["schema"] == "mqlab.error/1"
    assert called.json["exit"] == 2
    assert called.json["line"] == line_of(SCENARIO, "messages = 20")
    assert "mesages" in called.json["path"]


def test_the_python_error_has_the_parts(scenario_file: Path) -> None:
    scenario_file.write_text(SCENARIO.replace("instances = 2", "instances = -2"))
    with pytest.raises(mqlab.ScenarioError) as raised:
        mqlab.load(scenario_file)
    assert raised.value.file == str(scenario_file)
    assert raised.value.line == line_of(SCENARIO, "instances = 2")
    assert raised.value.path == "stages.embed.instances"
    assert isinstance(raised.value, mqlab.Error)


TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=40)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_damaged_scenario_is_read_or_refused(data: st.DataObject) -> None:
    """Cut, doubled or overwritten anywhere: a scenario or a ScenarioError, nothing else."""
    begin = data.draw(st.integers(0, len(SCENARIO)))
    end = data.draw(st.integers(begin, min(begin + 60, len(SCENARIO))))
    text = SCENARIO[:begin] + data.draw(TEXT) + SCENARIO[end:]
    try:
        scenario = mqlab.Scenario(text, "damaged.toml")
    except mqlab.ScenarioError as error:
        assert str(error).startswith("damaged.toml")
        assert "\n" not in str(error)
    else:
        assert mqlab.Scenario(scenario.to_toml(), "complete.toml") == scenario


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["broker", "client", "topics", "workload", "stages", "network", "faults", "claims"]), VALUES)
def test_a_dict_of_any_shape_is_read_or_refused(key: str, value: object) -> None:
    try:
        mqlab.load({"name": "any", key: value})
    except mqlab.ScenarioError as error:
        assert "\n" not in str(error)
