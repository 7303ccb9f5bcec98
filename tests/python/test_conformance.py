"""Every entry in the simulated world, the page made of them, and what the runner does with bad entries."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import mqlab
import pytest
from mqlab.conformance import fidelity, runner
from mqlab.conformance.concern import rests_on
from mqlab.conformance.entry import Entry, read_entry
from mqlab.conformance.live import answers, fits
from mqlab.conformance.suite import load_suite
from support import ROOT, call

SUITE = load_suite()
WORLD = runner.Simulated()


@pytest.mark.parametrize("entry", SUITE.entries.values(), ids=list(SUITE.entries))
def test_the_model_shows_it(entry: Entry) -> None:
    found = runner.outcome(entry, WORLD)
    assert found.result in ("agrees", "cannot"), f"expected {found.expected}; observed {found.observed}"


def test_there_are_enough() -> None:
    shown = [entry for entry in SUITE.entries.values() if "sim" not in entry.cannot]
    assert len(shown) >= 100


def test_every_entry_says_what_concerns_which_world() -> None:
    for entry in SUITE.entries.values():
        assert set(entry.cannot) != {"sim", "live"}, f"{entry.fact} is shown nowhere"


def test_the_page_is_up_to_date() -> None:
    path = ROOT / "docs" / "fidelity.md"
    page = fidelity.page()
    if os.environ.get("MQLAB_UPDATE_DOCS"):
        path.write_text(page, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == page, "MQLAB_UPDATE_DOCS=1 writes it anew"


def test_kept_live_results_are_of_facts_there_are_and_none_differs() -> None:
    kept = fidelity.live_results()
    assert set(kept) <= set(SUITE.entries)
    assert [fact for fact, about in kept.items() if about["result"] == "differs"] == []


def entry_at(folder: Path, text: str) -> Entry:
    """An entry in a suite of its own, with the bases of the real one."""
    (folder / "kafka").mkdir()
    (folder / "bases").symlink_to(SUITE.entries["nats/ack-wait"].file.parent.parent / "bases")
    file = folder / "kafka" / "mine.toml"
    file.write_text(text)
    return read_entry(file)


MINE = 'says = "so"\nsource = "here"\nbase = "kafka-produce"\n'


def test_what_is_not_so_differs(tmp_path: Path) -> None:
    entry = entry_at(tmp_path, MINE + 'expect = [{ list = "position", of = { kind = "publish" }, is = [7] }]')
    found = runner.outcome(entry, runner.Simulated())
    assert (found.result, found.observed) == ("differs", "[0]")


def test_a_scenario_that_should_be_refused_and_runs_differs(tmp_path: Path) -> None:
    found = runner.outcome(entry_at(tmp_path, MINE + 'refused = "acks"'), runner.Simulated())
    assert found.result == "differs"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MINE, "nothing is run or expected"),
        (MINE + "expects = []", "expects: there is no such key"),
        ('says = "so"', "names its source"),
        (MINE + "expect = [{ count = 3 }", "is no TOML"),
    ],
)
def test_a_bad_entry_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(mqlab.ScenarioError, match=told):
        entry_at(tmp_path, text)


@pytest.mark.parametrize(
    ("expectation", "told"),
    [
        ('{ count = { kind = "publishes" }, is = 1 }', "publishes"),
        ('{ count = { kind = "publish", who = "me" }, is = 1 }', "who"),
        ('{ count = { kind = "publish" } }', "is, at_least or at_most is missing"),
        ('{ verdict = "no_such_claim", is = "holds" }', "no_such_claim"),
        ('{ counts = { kind = "publish" }, is = 1 }', "an expectation is one of"),
    ],
)
def test_an_expectation_without_meaning_is_told_in_one_line(tmp_path: Path, expectation: str, told: str) -> None:
    with pytest.raises(mqlab.ScenarioError, match=told):
        runner.outcome(entry_at(tmp_path, MINE + f"expect = [{expectation}]"), runner.Simulated())


def test_the_document_is_that_of_the_contract() -> None:
    called = call("conformance", "nats", "--fact", "nats/duplicate-id", "--json")
    assert called.code == 0
    assert called.json["schema"] == "mqlab.conformance/1"
    assert called.json["world"] == "sim"
    (fact,) = called.json["facts"]
    assert (fact["fact"], fact["broker"], fact["result"]) == ("nats/duplicate-id", "nats", "agrees")
    assert {"version", "expected", "observed", "source"} <= set(fact)


@pytest.mark.parametrize("arguments", [["redis"], ["--fact", "nats/nonsense"], ["--address", "127.0.0.1:1"]])
def test_bad_input_is_one_line(arguments: list[str]) -> None:
    called = call("conformance", *arguments)
    assert called.code == 2
    assert len(called.err.strip().splitlines()) == 1


def test_verdicts_rest_on_the_facts_that_concern_them() -> None:
    scenario = mqlab.load(ROOT / "experiments" / "nats-ack-wait.toml")
    assert "nats/ack-wait" in rests_on(scenario)
    assert not any(fact.startswith("kafka/") for fact in rests_on(scenario))
    assert mqlab.run(scenario).verdicts.document()["claims"][0]["rests_on"] == list(rests_on(scenario))


def test_versions_and_answers() -> None:
    assert fits("4.1.1", ">=3.7, <5")
    assert not fits("4.1.1", "<4.0")
    assert fits("3.7.2", ">=3.7")
    assert answers({"a": 1, "b": 2}, {"a": 1})
    assert not answers({"a": 1}, {"b": None, "a": 2})
    assert answers("closed: Maximum", "~Maximum")
    assert answers(7, [5, 9])
    assert not answers(70, [5, 9])


def test_facts_are_counted_once() -> None:
    assert max(Counter(fact.id for fact in SUITE.facts).values()) == 1
