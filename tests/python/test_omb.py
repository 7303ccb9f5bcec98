"""Files of OpenMessaging Benchmark: workloads and drivers run as they are, results are compared."""

from __future__ import annotations

import json
import math
from pathlib import Path

import mqlab
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqlab.comparison import Comparison
from mqlab.omb.driver import read_driver
from mqlab.omb.result import read_omb_result
from mqlab.omb.workload import read_workload
from support import call

WORKLOAD = """name: 2 topics / 3 partitions / 1Kb
topics: 2
partitionsPerTopic: 3
keyDistributor: "KEY_ROUND_ROBIN"
messageSize: 1024
payloadFile: "payload/payload-1Kb.data"
subscriptionsPerTopic: 2
consumerPerSubscription: 2
producersPerTopic: 3
producerRate: 2000
consumerBacklogSizeGB: 0
testDurationMinutes: 15
"""
KAFKA = """# A driver as the benchmark ships them.
name: Kafka
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 3
reset: true

topicConfig: |
  min.insync.replicas=2

commonConfig: |
  bootstrap.servers=localhost:9092

producerConfig: |
  acks=all
  # as the fastest have it
  linger.ms=1
  batch.size=131072

consumerConfig: |
  auto.offset.reset=earliest
  enable.auto.commit=false
"""
NATS = """name: NATS
driverClass: io.openmessaging.benchmark.driver.nats.NatsBenchmarkDriver
natsHostUrl: localhost:4222
replicationFactor: 1
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    names = ("workload.yaml", "kafka.yaml", "nats.yaml")
    for name, text in zip(names, (WORKLOAD, KAFKA, NATS), strict=True):
        (tmp_path / name).write_text(text)
    workload, kafka, nats = (tmp_path / name for name in names)
    return workload, kafka, nats


def test_a_workload_and_a_driver_are_one_scenario(files: tuple[Path, Path, Path]) -> None:
    workload, kafka, _ = files
    told = mqlab.load(workload, driver=kafka).to_dict()
    assert [t["name"] for t in told["topics"]] == ["topic-1", "topic-2"]
    assert {(t["partitions"], t["replication"], t["properties"]["min.insync.replicas"]) for t in told["topics"]} == {
        (3, 3, 2)
    }
    assert {(w["rate"], w["producers"], w["messages"], w["size"]) for w in told["workloads"]} == {
        (1000.0, 3, 900_000, 1024)
    }
    assert told["workloads"][0]["producer"] == {"acks": "all", "linger.ms": 1, "batch.size": 131072}
    assert [s["instances"] for s in told["stages"]] == [2, 2, 2, 2]
    assert {s["commit"] for s in told["stages"]} == {"async"}
    assert told["broker"]["nodes"] == 3


@pytest.mark.parametrize("which", [1, 2], ids=["kafka", "nats"])
def test_it_runs_and_every_subscription_gets_everything(files: tuple[Path, Path, Path], which: int) -> None:
    run = mqlab.run(mqlab.load(files[0], driver=files[which], duration="200ms"))
    assert [(v.verdict, v.observed) for v in run.verdicts] == [("holds", 200)] * 4
    assert run.throughput == pytest.approx(2000, rel=0.05)


def test_a_scenario_names_a_workload_file(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    text = (
        '[broker]\nkind = "nats"\n[[streams]]\nname = "s"\n[workload]\nstream = "s"\nomb = "workload.yaml"  # theirs\n'
    )
    named = tmp_path / "named.toml"
    named.write_text('name = "n"\n' + text)
    told = mqlab.load(named).to_dict()["workload"]
    assert (told["rate"], told["size"], told["messages"]) == (2000.0, 1024, 1_800_000)
    named.write_text('name = "n"\n' + text + 'rate = "1/s"\n')
    with pytest.raises(mqlab.ScenarioError, match=r"named.toml:8: workload.omb: .*leave out rate"):
        mqlab.load(named)


BAD_WORKLOADS = [
    ("producerRate: 2000", "producerRate: 0", r"workload.yaml:10: producerRate: 0 lets the benchmark look"),
    ("producerRate: 2000", "producerRte: 2000", r"workload.yaml:10: producerRte: .*nearest: producerRate"),
    ("messageSize: 1024", "messageSize: big", r"workload.yaml:5: messageSize: 'big' must be a whole number"),
    ("topics: 2", "topics: -2", r"workload.yaml:2: topics: -2 must be a whole number from 1 on"),
    ("topics: 2", "topics: [", r"workload.yaml:\d+: is not YAML"),
    ("topics: 2", "topics: 2\ntopics: 2", r"workload.yaml:3: topics: is given twice"),
    ("KEY_ROUND_ROBIN", "KEY_ROUND", r"workload.yaml:4: keyDistributor: 'KEY_ROUND' must be one of NO_KEY"),
    ("consumerBacklogSizeGB: 0", "consumerBacklogSizeGB: 9", r"workload.yaml:11: consumerBacklogSizeGB: must be 0"),
    (WORKLOAD, "- a list\n", r"workload.yaml: is no OpenMessaging Benchmark workload"),
    ("messageSize: 1024\n", "", r"workload.yaml: messageSize: is missing"),
]
BAD_DRIVERS = [
    ("kafka.Kafka", "pulsar.Pulsar", r"kafka.yaml:3: driverClass: .*Kafka and NATS"),
    ("acks=all", "akcs=all", r'kafka.yaml:14: akcs: .*did you mean "acks"'),
    ("  linger.ms=1\n", "  linger.ms=soon\n", r"kafka.yaml:16: linger.ms"),
    ("  linger.ms=1\n", "  linger\n", r"kafka.yaml:13: producerConfig: 'linger' is not of the form KEY=VALUE"),
    ("reset: true", "natsHostUrl: x", r"kafka.yaml:5: natsHostUrl: is no key of the kafka driver"),
]


@pytest.mark.parametrize(("old", "new", "line"), BAD_WORKLOADS)
def test_a_bad_workload_is_named_by_line(files: tuple[Path, Path, Path], old: str, new: str, line: str) -> None:
    files[0].write_text(WORKLOAD.replace(old, new))
    with pytest.raises(mqlab.ScenarioError, match=line):
        mqlab.run(mqlab.load(files[0], driver=files[1], duration="100ms"))


@pytest.mark.parametrize(("old", "new", "line"), BAD_DRIVERS)
def test_a_bad_driver_is_named_by_line(files: tuple[Path, Path, Path], old: str, new: str, line: str) -> None:
    files[1].write_text(KAFKA.replace(old, new))
    with pytest.raises(mqlab.ScenarioError, match=line):
        mqlab.run(mqlab.load(files[0], driver=files[1], duration="100ms"))


@given(st.text(max_size=200), st.integers(0, len(WORKLOAD)), st.integers(0, 60))
def test_readers_never_fail_otherwise(noise: str, at: int, cut: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for text, read in ((WORKLOAD, read_workload), (KAFKA, read_driver)):
            file = Path(folder) / "file.yaml"
            file.write_text(text[:at] + noise + text[at + cut :], encoding="utf-8", errors="replace", newline="")
            try:
                read(str(file))  # type: ignore[operator]
            except mqlab.ScenarioError as error:
                assert "\n" not in str(error).replace(noise, "")


# ---- results ----


def theirs(folder: Path) -> Path:
    file = folder / "theirs.json"
    document = {
        "workload": "1 topic", "driver": "Kafka", "publishRate": [1000.0, 1002.0], "consumeRate": [999.0, 1001.0],
        "aggregatedPublishLatency50pct": 2.0, "aggregatedPublishLatencyMax": 90.5,
        "aggregatedEndToEndLatency99pct": 5.0, "aggregatedEndToEndLatencyQuantiles": {"50.0": 3.0, "100.0": 95.0},
    }  # fmt: skip
    file.write_text(json.dumps(document))
    return file


def test_a_result_is_read_in_seconds(tmp_path: Path) -> None:
    found = read_omb_result(theirs(tmp_path))
    assert (found.throughput, found.windows) == (1000.0, 2)
    assert found.publish_latency.quantile(0.5) == 0.002
    assert found.publish_latency.quantile(1) == 0.0905
    assert found.end_to_end.quantile(0.99) == 0.005
    assert found.end_to_end.quantile(0.5) == 0.003
    assert math.isnan(found.publish_latency.quantile(0.75))


def test_the_labs_own_result_reads_back(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    run = mqlab.run(mqlab.load(files[0], driver=files[1], duration="200ms"))
    found = read_omb_result(run.save(tmp_path / "run") / "result.json")
    for q in (0.5, 0.95, 0.99, 1.0):
        assert found.end_to_end.quantile(q) == pytest.approx(run.latency.quantile(q))


def test_a_run_stands_beside_a_result(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    run = mqlab.run(mqlab.load(files[0], driver=files[1], duration="200ms"))
    compared = Comparison(run, read_omb_result(theirs(tmp_path)))
    by_name = {m.name: m for m in compared.figures}
    assert by_name["throughput"].b == 1000.0
    assert by_name["end to end p99"].ratio == pytest.approx(0.005 / run.latency.quantile(0.99))
    assert compared.exit_code == 0
    done = call("compare", run.save(tmp_path / "run"), theirs(tmp_path))
    assert done.code == 0
    assert "OMB ÷ simulated" in done.out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "publishRate is missing"),
        ('{"publishRate": "fast"}', "publishRate: must be a list of numbers"),
        ('{"publishRate": [1], "aggregatedPublishLatency50pct": "quick"}', "aggregatedPublishLatency50pct"),
        ('{"publishRate": [1], "aggregatedPublishLatencyQuantiles": {"a": 1}}', "must hold numbers"),
    ],
)
def test_what_is_no_result_is_said_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(mqlab.HistoryError, match=problem) as raised:
        read_omb_result(file)
    assert "\n" not in str(raised.value)
