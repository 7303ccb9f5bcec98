"""Every rule finds what shows it and not its mend; where the model runs it, the setting breaks the claim."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import mqlab
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqlab.lint import KINDS, lint, rules
from mqlab.lint.from_nats import read_nats
from mqlab.lint.from_properties import read_properties
from mqlab.lint.rule import CONTRADICTS, COSTS, FAMILIES, WEAKENS
from mqlab.lint.shown import Shown, shown
from support import ROOT, call

RULES = {rule.id: rule for rule in rules()}
RUN = [example for example in shown().values() if example.violates]


def found_in(example: Shown, mended: bool, folder: Path) -> set[str]:
    path = folder / (example.rule + example.suffix)
    path.write_text(example.text(mended))
    return {finding.rule for finding in lint(path)}


def test_there_are_enough_and_each_is_whole() -> None:
    assert len(RULES) == len(rules()) >= 60
    assert set(shown()) == set(RULES)
    for rule in rules():
        assert rule.severity in (CONTRADICTS, WEAKENS, COSTS)
        assert set(rule.threatens) <= set(FAMILIES)
        assert (rule.severity == CONTRADICTS) or rule.threatens
        assert rule.reason and rule.mend and rule.source
        assert rule.source.startswith(("https://", "KIP-", "KAFKA-", "ADR-")) or "#" in rule.source


@pytest.mark.parametrize("example", shown().values(), ids=lambda example: example.rule)
def test_finds_what_shows_it_and_not_the_mend(example: Shown, tmp_path: Path) -> None:
    assert example.rule in found_in(example, False, tmp_path)
    assert example.rule not in found_in(example, True, tmp_path)


@pytest.mark.parametrize("example", RUN, ids=lambda example: example.rule)
def test_the_model_agrees(example: Shown, tmp_path: Path) -> None:
    """With the setting the claim breaks, with the mend it holds; the rule says that it threatens this claim."""
    broken = mqlab.verify(example.scenario(False), schedules=1000, out=tmp_path, claims=[example.violates])
    assert broken[example.violates].verdict == "violated"
    held = mqlab.verify(example.scenario(True), schedules=1000, out=tmp_path, claims=[example.violates])
    assert held[example.violates].verdict == "holds", held[example.violates].explanation
    families = RULES[example.rule].threatens
    assert any(example.violates in FAMILIES[family] for family in families)


def test_enough_rules_are_shown_by_the_model() -> None:
    assert len(RUN) >= 25


def test_a_finding_names_line_claim_mend_and_source() -> None:
    called = call("lint", ROOT / "experiments/nats-power-loss.toml")
    assert called.code == 1
    assert ":13: broker.properties.sync_interval: weakens [nats.server.not-synced]" in called.out
    assert "threatens no_loss of requests in requests" in called.out
    assert "mend      sync_interval: always" in called.out
    assert "nats-2.12.1" in called.out


def test_what_is_not_claimed_is_not_weakened() -> None:
    assert lint(ROOT / "experiments/kafka-transactional.toml") == []
    assert call("lint", ROOT / "experiments/nats-sync-always.toml").code == 0


def test_what_is_expected_to_be_violated_is_no_finding(tmp_path: Path) -> None:
    text = (ROOT / "experiments/nats-power-loss.toml").read_text()
    path = tmp_path / "known.toml"
    path.write_text(text.replace('in = "requests" }', 'in = "requests", expect = "violated" }'))
    assert lint(path) == []


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "producer.properties"
    path.write_text("# mine\nbootstrap.servers=a:9092\n\nacks=1\n")
    called = call("lint", path, "--json")
    assert called.code == 1
    finding = next(f for f in called.json["findings"] if f["rule"] == "kafka.producer.acks-1")
    assert (finding["file"], finding["line"], finding["severity"]) == (str(path), 4, "weakens")
    assert call("lint", "--rules", "--json").json["rules"][0]["rule"] == rules()[0].id


def test_files_given_together_are_one_system(tmp_path: Path) -> None:
    producer, broker = tmp_path / "producer.properties", tmp_path / "server.properties"
    producer.write_text("transactional.id=a\ntransaction.timeout.ms=600000\n")
    broker.write_text("process.roles=broker\ntransaction.max.timeout.ms=300000\n")
    rule = "kafka.producer.transaction-timeout-over-the-brokers"
    assert rule not in {f.rule for f in lint(producer)}
    assert rule in {f.rule for f in lint(producer, broker)}


@pytest.mark.parametrize(
    ("text", "name", "table"),
    [
        ("acks=all\nlinger.ms=5\nbuffer.memory=1\n", "a.properties", "java producer"),
        ("acks=all\nqueue.buffering.max.messages=5\n", "a.properties", "librdkafka producer"),
        ("group.id=a\nmax.poll.records=1\n", "a.properties", "java consumer"),
        ("group.id=a\nfetch.wait.max.ms=1\n", "a.properties", "librdkafka consumer"),
        ("log.dirs=/x\nnum.partitions=1\n", "a.properties", "kafka broker"),
        ("retention.ms=1\ncleanup.policy=compact\n", "a.properties", "kafka topic"),
        ("request.timeout.ms=100\n", "my-consumer.properties", "java consumer"),
    ],
)
def test_whose_properties_these_are(text: str, name: str, table: str) -> None:
    assert read_properties(text, name).table == table


def test_show_prints_a_scenario_that_runs(tmp_path: Path) -> None:
    called = call("lint", "--show", "nats.server.not-synced")
    assert called.code == 0
    path = tmp_path / "shown.toml"
    path.write_text(called.out)
    assert mqlab.load(path).name == "lint-nats"
    assert call("lint", "--show", "no.such.rule").code == 2


BAD = {
    "a.toml": b"not = [toml",
    "b.properties": b"",
    "c.properties": b"acks=\\u12\n",
    "d.properties": b"what.is.this=1\n",
    "e.conf": b"jetstream {",
    "f.json": b'{"retention": }',
    "g.conf": b"hello",
    "h.json": b"\xff\xfe",
    "i.yaml": b"a: 1",
    "k.conf": b"a: " + b"[" * 500,
    "l.json": b'{"unrelated": 1}',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(BAD[name])
    called = call("lint", name, cwd=tmp_path)
    assert called.code == 2, called
    assert called.err.count("\n") == 1
    assert called.err.startswith(name + ":")
    assert call("lint", "missing.properties", cwd=tmp_path).code == 2
    assert call("lint", "--kind", "teapot", name, cwd=tmp_path).code == 2
    assert call("lint", cwd=tmp_path).code == 2


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="{}[]:=,;\"'#/ \n\\abjetstream10.-_ü", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (lambda: read_nats(text, "a.conf"), lambda: read_properties(text, "a.properties")):
        try:
            read()
        except mqlab.ScenarioError as error:
            assert error.file


def test_nats_configuration_as_people_write_it() -> None:
    text = """# a server
listen: 127.0.0.1:4222
server_name=n1
jetstream {
  store_dir: "/data/js"   // on a disk of its own
  sync_interval: 30s
  max_file: 10GB
}
cluster { name: C, routes: [ nats://a:6222, nats://b:6222 ] }
"""
    subject = read_nats(text, "a.conf")
    assert subject["sync_interval"] == "30s"
    assert subject.line_of("sync_interval") == 6
    assert subject.fact("nodes") == 2


def test_loads_only_what_it_needs() -> None:
    code = (
        "import sys; from mqlab.cli.main import call; call(['lint', *sys.argv[1:]]); "
        "print([m for m in ('numpy', 'pandas', 'rich', 'typer', 'pydantic') if m in sys.modules])"
    )
    files = sorted(map(str, (ROOT / "experiments").glob("*.toml")))
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_is_there_at_once() -> None:
    """Processor time of the whole command, at best of some tries: others may run beside it."""
    files = sorted((ROOT / "experiments").glob("*.toml"))
    assert any(processor_seconds("lint", *files) < 0.2 for _ in range(10))


def processor_seconds(*arguments: object) -> float:
    before = os.times()
    call(*arguments)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_documentation_has_every_rule() -> None:
    page = ROOT / "docs/lint.md"
    begin, end = "<!-- rules: begin -->\n", "<!-- rules: end -->"
    text = page.read_text()
    head, rest = text.split(begin)
    wanted = head + begin + table() + end + rest.split(end)[1]
    if os.environ.get("MQLAB_UPDATE_DOCS"):
        page.write_text(wanted)
    assert page.read_text() == wanted, "MQLAB_UPDATE_DOCS=1 writes it anew"


def table() -> str:
    lines = ["", "| rule | | threatens | why | mend | source | shown |", "|---|---|---|---|---|---|---|"]
    for rule in rules():
        example = shown()[rule.id]
        seen = f"model: {example.violates}" if example.violates else example.suffix
        cells = [f"`{rule.id}`", rule.severity, ", ".join(rule.threatens), rule.reason, rule.mend, rule.source, seen]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, "", ""])


def test_kinds_are_tables() -> None:
    for kind in KINDS:
        assert read_properties("acks=all\nretries=1\n", "a.properties", kind).table == kind.replace("-", " ")


def test_json_of_an_infinite_value_is_json(tmp_path: Path) -> None:
    scenario = shown()["kafka.producer.shared-transactional-id"].scenario(False)
    mqlab.verify(scenario, schedules=5, out=tmp_path)
    json.loads((tmp_path / "verdicts.json").read_text())
