"""The live world on real Kafka brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from live_support import KIND, Rows, fault, kafka, live, replays
from mqlab import _core
from mqlab.errors import BrokerError
from mqlab.live.brokers import start_cluster
from mqlab.live.cluster import Cluster, ClusterSpec
from mqlab.live.controller import run_live

ALL = Counter(range(1, 41))
ABORTED = _core.FLAGS["aborted"]


@pytest.fixture(scope="module")
def one_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    spec = ClusterSpec("kafka", "4.1", 1, {"group.min.session.timeout.ms": "500"})
    with start_cluster(spec, tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


def test_every_request_goes_through_and_is_found_by_the_auditor(one_node: Cluster, tmp_path: Path) -> None:
    rows = live(kafka(), tmp_path, cluster=one_node, tag="plain")
    assert rows.audited("requests") == ALL
    assert rows.audited("answers") == ALL
    assert Counter(rows.of("deliver", process="billing")["message"].tolist()) == ALL
    ends = {row["place"]: (row["position"], row["aux"]) for row in rows.of("audit_end")}
    assert sum(end for end, _ in ends.values()) == 80
    assert all(end == count for end, count in ends.values())


def test_the_workload_begins_when_every_reader_reads(one_node: Cluster, tmp_path: Path) -> None:
    """Who begins at the end of what is there sees everything all the same: the end was asked for before."""
    latest = '"auto.offset.reset" = "latest"'
    scenario = (
        kafka()
        .replace('"auto.offset.reset" = "earliest"', latest)
        .replace('"isolation.level" = "read_uncommitted"', latest)
    )
    assert scenario.count(latest) == 2
    rows = live(scenario, tmp_path, cluster=one_node, tag="latest")
    assert Counter(rows.of("deliver", process="embed")["message"].tolist()) == ALL
    assert Counter(rows.of("deliver", process="billing")["message"].tolist()) == ALL


def test_stored_positions_are_those_that_were_acknowledged(one_node: Cluster, tmp_path: Path) -> None:
    rows = live(kafka(), tmp_path, cluster=one_node, tag="positions")
    acked = {(row["place"], row["position"], row["message"]) for row in rows.of("publish")}
    audited = {(row["place"], row["position"], row["message"]) for row in rows.of("audit") if row["op"] == 0}
    assert acked == audited


def test_a_key_stays_in_its_partition(one_node: Cluster, tmp_path: Path) -> None:
    rows = live(kafka(), tmp_path, cluster=one_node, tag="keys")
    records = rows.of("audit")
    records = records[(records["op"] == 0) & (records["place"] < 2)]
    assert len({(row["key"], row["place"]) for row in records}) == len(set(records["key"].tolist())) == 5


def test_partitions_are_handed_over_as_the_module_accepts_and_releases(one_node: Cluster, tmp_path: Path) -> None:
    rows = live(kafka(), tmp_path, [fault("kill", "complete", nth=10)], cluster=one_node, tag="handover")
    for process in (2, 3):
        for incarnation in (0, 1):
            mine = rows.rows[(rows.rows["process"] == process) & (rows.rows["incarnation"] == incarnation)]
            headers = mine[(mine["flags"] & _core.FLAGS["header"]) > 0]
            handover = [KIND[name] for name in ("assigned", "accept", "revoking", "release")]
            steps = [row["kind"] for row in headers if row["kind"] in handover]
            asked, answered = steps[::2], steps[1::2]
            assert answered == [KIND["accept"] if kind == KIND["assigned"] else KIND["release"] for kind in asked]
    assert rows.audited("requests") == ALL


def test_at_least_once_repeats_what_was_not_committed(one_node: Cluster, tmp_path: Path) -> None:
    rows = live(kafka(), tmp_path, [fault("kill", "commit", nth=10)], cluster=one_node, tag="least")
    answers = rows.audited("answers")
    assert set(answers) == set(ALL)
    assert sum(answers.values()) == 41
    assert len(rows.of("commit", "unknown")) == 1


def test_at_most_once_loses_what_was_committed_before(one_node: Cluster, tmp_path: Path) -> None:
    scenario = kafka().replace('module = "stage"', 'module = "stage"\nwhen = "before"')
    rows = live(scenario, tmp_path, [fault("kill", "handle", nth=10)], cluster=one_node, tag="most")
    assert sum(rows.audited("answers").values()) == 39


def test_a_clients_request_on_the_wire_is_an_anchor(one_node: Cluster, tmp_path: Path) -> None:
    rows = live(kafka(), tmp_path, [fault("kill", "request.offset_commit", nth=10)], cluster=one_node, tag="wire")
    hit = rows.of("fault")[0]
    sent = rows.of("request", "invoke")
    last = sent[(sent["process"] == hit["process"]) & (sent["time"] < hit["time"])][-1]
    assert last["code"] > 0
    assert set(rows.audited("answers")) == set(ALL)


def test_an_instance_joins_and_one_leaves_for_good(one_node: Cluster, tmp_path: Path) -> None:
    scenario = kafka().replace("instances = 2", "instances = 2\nspares = 1").replace("messages = 40", "messages = 800")
    joins, leaves = (
        {"at": {"process": "producer", "step": "publish.ok", "nth": 200}, "action": action, "target": target}
        for action, target in (("scale_out", "embed-2"), ("scale_in", "embed-0"))
    )
    rows = live(scenario, tmp_path, [joins, leaves], cluster=one_node, tag="scale")
    assert [rows.names[row["process"]] for row in rows.of("fault")] == ["embed-2", "embed-0"]
    assert len(rows.of("heal")) == 0
    starts = rows.of("start", process="embed")
    assert sorted((rows.names[row["process"]], row["incarnation"]) for row in starts) == [
        ("embed-0", 0), ("embed-1", 0), ("embed-2", 0)
    ]  # fmt: skip
    assert len(rows.of("stop", "fail", process="embed-0")) == 1
    assert len(rows.of("handle", process="embed-2")) > 0  # two partitions, and two are left to read them
    assert set(rows.audited("answers")) == set(range(1, 801))


def test_a_transaction_cut_short_is_aborted_and_the_rest_is_exactly_once(one_node: Cluster, tmp_path: Path) -> None:
    scenario = kafka(module="transactional-stage", transactional=True)
    rows = live(scenario, tmp_path, [fault("kill", "publish.ok", nth=8)], cluster=one_node, tag="txn")
    records = rows.of("audit")
    answers = records[(records["op"] == 0) & (records["place"] >= 2)]
    standing = answers[(answers["flags"] & ABORTED) == 0]
    assert Counter(standing["message"].tolist()) == ALL
    assert len(answers) - len(standing) == 1
    began = rows.of("begin", "invoke")
    assert np.all(began["transaction"] > 0)
    assert len(rows.of("offsets_to_transaction")) >= 40
    assert len(rows.of("offsets_to_transaction", "unknown")) <= 1


def test_a_reader_of_committed_records_sees_no_aborted_one(one_node: Cluster, tmp_path: Path) -> None:
    scenario = kafka(module="transactional-stage", transactional=True)
    scenario += (
        '[[observers]]\nname = "strict"\ntopic = "answers"\nconsumer = { "isolation.level" = "read_committed" }\n'
    )
    rows = live(scenario, tmp_path, [fault("kill", "publish.ok", nth=8)], cluster=one_node, tag="strict")
    assert Counter(rows.of("deliver", process="strict")["message"].tolist()) == ALL
    assert sum(Counter(rows.of("deliver", process="billing")["message"].tolist()).values()) == 41


@pytest.mark.parametrize("module", ["stage", "transactional-stage"])
def test_transcripts_lead_a_fresh_module_to_the_same_rows(one_node: Cluster, tmp_path: Path, module: str) -> None:
    scenario = kafka(module=module, transactional=module != "stage")
    kill = fault("kill", "publish.ok", nth=12)
    replays(live(scenario, tmp_path, [kill], cluster=one_node, tag=module, transcripts=True).run)


def test_three_brokers_outlive_the_kill_of_a_leader(tmp_path: Path) -> None:
    kill = fault("kill", "publish", nth=10, target="leader of answers/0", heal="1s")
    rows = live(kafka(3), tmp_path, [kill])
    assert rows.names[rows.of("fault")["process"][0]].startswith("kafka-")
    assert rows.audited("requests") >= ALL
    assert set(rows.audited("answers")) == set(ALL)


def test_a_setting_that_the_library_does_not_have_is_refused_by_name(one_node: Cluster, tmp_path: Path) -> None:
    scenario = kafka().replace('"linger.ms" = 5,', '"linger.ms" = 5, "retry.backoff.max.ms" = 500,')
    with pytest.raises(BrokerError, match=r"retry\.backoff\.max\.ms = 500.*cannot express"):
        run_live(scenario, 1, [], tmp_path, one_node, tag="refused")


def test_unkeyed_records_spread_over_partitions(one_node: Cluster, tmp_path: Path) -> None:
    scenario = kafka().replace('keys = { kind = "round_robin", count = 5 }', 'keys = "none"')
    rows = live(scenario, tmp_path, cluster=one_node, tag="unkeyed")
    assert rows.audited("requests") == ALL
    assert Rows(rows.run).of("publish", process="producer")["place"].max() < 2
