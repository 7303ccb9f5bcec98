"""`mqlab check`: histories of this lab and from elsewhere, and what is said of those that are none."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import mqlab
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqlab import _core
from mqlab.checking import read
from support import SCENARIO, call

LINES = """\
time,process,op,topic,partition,offset,id
0,api,send,requests,0,,m1
1,api,ack,requests,0,0,m1
2,api,send,requests,0,,m2
3,api,ack,requests,0,1,m2
4,billing,receive,requests,0,0,m1
5,billing,receive,requests,0,1,m2
6,,quiet,,,,
7,,audit,requests,0,0,m1
8,,audit,requests,0,1,m2
9,,audited,requests,0,,
"""
OPERATIONS = {
    "ops": [
        {"i": 0, "time": 0, "process": 0, "type": "invoke", "f": "send",
         "mops": [{"f": "send", "key": "x", "offset": None, "value": "a"}]},
        {"i": 1, "time": 1, "process": 0, "type": "ok", "f": "send",
         "mops": [{"f": "send", "key": "x", "offset": 0, "value": "a"}]},
        {"i": 2, "time": 2, "process": 1, "type": "ok", "f": "poll",
         "mops": [{"f": "poll", "records": [{"key": "x", "offset": 0, "value": "b"}]}]},
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def own() -> str:
    """A history of this lab as JSON Lines."""
    run = mqlab.run(mqlab.load(_scenario()))
    toml = run.scenario.to_toml()
    return _core.write_history(run.scenario.core, toml, "sim", run.seed, run.record.rows)


def _scenario() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(SCENARIO)


def _file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_plain_log_with_a_last_reading_is_judged_whole(tmp_path: Path) -> None:
    verdicts = mqlab.check(_file(tmp_path, "log.csv", LINES), ["no_loss={ of = 'requests', as = 'billing' }"])
    assert [(v.verdict, v.observed) for v in verdicts] == [("holds", 2)]
    every = mqlab.check(tmp_path / "log.csv")
    assert {v.verdict for v in every} == {"holds"}, [(v.claim, v.explanation) for v in every]
    assert every.exit_code == 0


def test_a_plain_log_without_its_last_reading_holds_nothing(tmp_path: Path) -> None:
    path = _file(tmp_path, "log.csv", "".join(LINES.splitlines(keepends=True)[:7]))
    verdicts = mqlab.check(path)
    assert {v.verdict for v in verdicts} == {"undecided"}
    assert verdicts.exit_code == 3


def test_what_breaks_a_plain_log_is_named_as_the_log_names_it(tmp_path: Path) -> None:
    path = _file(
        tmp_path, "log.csv", LINES.replace("5,billing,receive,requests,0,1,m2", "5,billing,receive,requests,0,0,m2")
    )
    answer = call("check", str(path), "--claim", "log.offsets_consistent", "--json")
    assert answer.code == 1
    found = json.loads(answer.out)["claims"][0]
    assert found["verdict"] == "violated"
    anomaly = found["anomalies"][0]
    assert (anomaly["anomaly"], anomaly["place"]) == ("inconsistent-offsets", "requests/0")
    assert (anomaly["ids"], anomaly["positions"]) == (["m1", "m2"], [0])
    assert anomaly["operations"] == [3, 7]  # lines of the log


def test_a_history_of_the_lab_gets_the_verdicts_of_its_run(own: str, tmp_path: Path) -> None:
    run = mqlab.run(mqlab.load(_scenario()))
    checked = mqlab.check(_file(tmp_path, "own.jsonl", own))
    assert [(v.claim, v.verdict, v.observed) for v in checked] == [
        (v.claim, v.verdict, v.observed) for v in run.verdicts
    ]
    assert mqlab.check(run.record)[0].verdict == run.verdicts[0].verdict
    cut = own.splitlines(keepends=True)[:-1]
    assert "holds" not in {v.verdict for v in mqlab.check(_file(tmp_path, "cut.jsonl", "".join(cut)))}


def test_lines_that_name_their_parties_need_no_scenario(tmp_path: Path) -> None:
    header = {"mqlab": "history", "version": 1, "topics": {"requests": 1}, "senders": {"api": "requests"},
              "readers": {"billing": "requests"}}  # fmt: skip
    rows = [
        {
            "time": 0,
            "kind": "deliver",
            "phase": "ok",
            "process": "billing",
            "message": 1,
            "place": "requests/0",
            "position": 0,
        },
        {
            "time": 1,
            "kind": "deliver",
            "phase": "ok",
            "process": "billing",
            "message": 2,
            "place": "requests/0",
            "position": 0,
        },
    ]
    text = "\n".join(json.dumps(line) for line in (header, *rows, {"end": 2}))
    verdict = mqlab.check(_file(tmp_path, "h.jsonl", text), ["log.monotonic_poll"])[0]
    assert verdict.explanation == "nonmonotonic-poll in requests/0: id 1, id 2" or verdict.verdict == "undecided"
    assert mqlab.check(tmp_path / "h.jsonl", ["log.offsets_consistent"])[0].verdict == "violated"


HEADER = '{"mqlab":"history","version":1,"topics":{"t":1},"senders":{"api":"t"}}\n'
BAD = [
    ("a.jsonl", "", ":1: this is no JSON"),
    ("a.jsonl", '{"mqlab":"history","version":2}\n', ':1: "version" must be 1'),
    ("a.jsonl", '{"mqlab":"history","version":1,"topics":{"t":0}}\n', ":1: a topic has 1 to 4096 partitions"),
    ("a.jsonl", '{"mqlab":"history","version":1,"topics":{"t":1},"readers":{"b":"u"}}\n', ":1: b: there is no topic"),
    ("a.jsonl", HEADER + '{"time":0,"kind":"invoke"', ":2: this is no JSON"),
    ("a.jsonl", HEADER + '{"time":"0","kind":"invoke","phase":"ok"}\n', ':2: "time" must be a whole number'),
    ("a.jsonl", HEADER + '{"time":0,"kind":"invoked","phase":"ok"}\n', ":2: there is no kind"),
    ("a.jsonl", HEADER.encode() + b'{"time":0,"kind":"\xff\xfe","phase":"ok"}\n', ":2: this is not UTF-8"),
    ("a.jsonl", HEADER + '{"end":5}\n', ":2: the end line speaks of 5 rows, there are 0"),
    (
        "a.jsonl",
        HEADER + '{"time":0,"kind":"invoke","phase":"ok","process":"api","message":7}\n' * 2 + '{"end":2}\n',
        ":3: id 7 was invoked before; an id is invoked once",
    ),
    ("a.csv", "time,process\n", ":1: the first line must name the columns"),
    ("a.csv", LINES + "10,api,sent,requests,0,,m9\n", ":12: op: must be one of"),
    ("a.csv", LINES + "10,api,send\n", ":12: 3 fields, the first line names 7"),
    ("a.csv", LINES + "1,api,send,requests,0,,m9\n", ":12: time: must not fall"),
    ("a.csv", LINES + "10,api,ack,requests,0,7,m9\n", ":12: ack: api has no open send of id 'm9'"),
    ("a.csv", LINES + "10,api,ack,requests,0,x,m9\n", ":12: offset: must be a whole number"),
    ("a.csv", LINES.encode() + b"10,\xff,send,requests,0,,m9\n", ":12: this is not UTF-8"),
    ("a.json", "{", ":1: this is no JSON"),
    ("a.json", "[]", ':1: must be an object with "ops"'),
    ("a.json", '{"ops": 3}', '"ops" must be a list'),
    ("a.json", '{"ops": [], "ops": []}', "'ops' is there twice"),
    ("a.json", json.dumps({"ops": [OPERATIONS["ops"][0]] * 2}), 'ops[1]: "i" must be 1'),
    ("a.json", "[" * 100_000, "this is no JSON"),
    ("a.json", b'{"ops": ["\xff"]}', ":1: this is not UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "says"), BAD)
def test_what_is_no_history_is_refused_with_line_and_reason(
    name: str, content: str | bytes, says: str, tmp_path: Path
) -> None:
    with pytest.raises(mqlab.HistoryError) as caught:
        mqlab.check(_file(tmp_path, name, content), ["log.no_poll_skip"])
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_input_ends_a_command_with_2(tmp_path: Path) -> None:
    broken = call("check", str(_file(tmp_path, "a.jsonl", HEADER + "nonsense\n")), "--claim", "no_loss")
    assert (broken.code, broken.out) == (2, "")
    assert "a.jsonl:2: this is no JSON" in broken.err
    unknown = call("check", str(_file(tmp_path, "b.csv", LINES)), "--claim", "no_los")
    assert unknown.code == 2
    assert 'did you mean "no_loss"?' in unknown.err


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 30)  # a hole: takes no room
    with pytest.raises(mqlab.HistoryError, match="larger than 512 MiB"):
        mqlab.check(path, ["no_loss"])


CORPUS = {
    "csv": LINES.encode(),
    "json": json.dumps(OPERATIONS).encode(),
    "jsonl": (
        HEADER + '{"time":1,"kind":"publish","phase":"invoke","process":"api","op":1,"message":1}\n{"end":1}\n'
    ).encode(),
}
PIECES = [
    b"",
    b"\n",
    b",",
    b'"',
    b"{",
    b"}",
    b"[",
    b"-1",
    b"1e9",
    b"99999999999999999999",
    b"null",
    b"\xff",
    b"\x00",
    b"ops",
    b"x/0",
]


@settings(
    max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(form=st.sampled_from(sorted(CORPUS)), seed=st.integers(0, 2**32))
def test_any_change_to_a_file_is_read_or_refused(form: str, seed: int, tmp_path: Path) -> None:
    """A reader under mutated files: a verdict, or one line of complaint; never anything else."""
    choose = random.Random(seed)
    content = bytearray(CORPUS[form])
    for _ in range(choose.randint(1, 4)):
        at = choose.randrange(len(content) + 1)
        content[at : at + choose.choice([0, 1, 1, 5, 40])] = choose.choice(PIECES)
    path = _file(tmp_path, f"mutated.{form}", bytes(content))
    try:
        foreign = read(path)
        mqlab.check(foreign.history, foreign.claims or ["log.offsets_consistent", "no_loss"])
    except mqlab.Error as error:
        assert "\n" not in str(error)
