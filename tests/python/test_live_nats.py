"""The live world on real NATS servers."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from live_support import Rows, fault, live, nats, replays
from mqlab.live.brokers import start_cluster
from mqlab.live.cluster import ClusterSpec
from mqlab.live.controller import CannotRunLive, run_live
from mqlab.live.row_files import RowFile
from mqlab.live.worker import Files, lab_arguments, worker_program

ALL = Counter(range(1, 61))


def test_every_request_goes_through_and_is_found_by_the_auditor(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path)
    assert rows.audited("requests") == ALL
    assert rows.audited("answers") == ALL
    assert Counter(rows.of("deliver", process="billing")["message"].tolist()) == ALL
    assert len(rows.of("audit_end")) == 2
    assert len(rows.of("ack", process="embed")) == 60


def test_a_seed_may_have_all_its_bits(tmp_path: Path) -> None:
    run = run_live(nats(), 2**64 - 1, [], tmp_path)  # as the search derives them
    assert run.problems == []
    assert run.quiet


def test_rows_are_in_order_of_time_and_of_each_process(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path)
    assert np.all(np.diff(rows.rows["time"]) >= 0)
    for message in (1, 30, 60):
        steps = rows.rows[(rows.rows["message"] == message) & np.isin(rows.rows["process"], [2, 3])]
        assert list(steps["kind"]) == sorted(steps["kind"], key=[7, 8, 10, 9].index)  # deliver handle publish complete


def test_the_workload_keeps_its_intended_times(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path)
    invoked = rows.of("invoke")
    assert np.all(np.diff(invoked["aux"]) == 2_500_000)  # 400/s, constant
    assert np.all(invoked["time"] >= invoked["aux"])


def test_a_killed_workers_rows_survive_and_its_work_is_done_again(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path, [fault("kill", "complete", message=7)])
    dead = rows.of("stop", "fail")
    assert len(dead) == 1
    process, killed_at = dead["process"][0], dead["time"][0]
    completed = rows.of("complete")
    last = completed[(completed["process"] == process) & (completed["incarnation"] == 0)][-1]
    assert last["message"] == 7  # the row is there, the acknowledgement was never sent
    assert Counter(rows.of("handle")["message"].tolist())[7] == 2
    assert rows.audited("answers") == ALL  # the second publish carries the same Nats-Msg-Id
    again = rows.of("start")
    assert again[again["process"] == process]["incarnation"].tolist() == [0, 1]
    assert rows.of("heal")["time"][0] - killed_at >= 300_000_000


def test_what_a_killed_worker_had_under_way_ends_as_unknown(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path, [fault("kill", "publish", nth=20)])
    unknown = rows.of("publish", "unknown")
    assert len(unknown) == 1  # written, then stopped before the effect
    started = rows.of("publish", "invoke")
    assert unknown["op"][0] in started[started["process"] == unknown["process"][0]]["op"]
    assert rows.of("stop", "fail")["time"][0] <= unknown["time"][0]


def test_a_paused_worker_does_nothing_until_it_is_healed(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path, [fault("pause", "handle", nth=10, heal="400ms")])
    hit, healed = rows.of("fault")[0], rows.of("heal")[0]
    mine = rows.rows[(rows.rows["process"] == hit["process"]) & (rows.rows["kind"] < 36)]
    between = mine[(mine["time"] > hit["time"]) & (mine["time"] < healed["time"])]
    assert len(between) == 0
    assert 0.4e9 <= healed["time"] - hit["time"] < 0.6e9


def test_a_restarted_worker_is_told_to_stop_and_comes_back(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path, [fault("restart", "complete", nth=10)])
    process = rows.of("fault")["process"][0]
    assert process in rows.of("stop")["process"]
    starts = rows.of("start")
    assert starts[starts["process"] == process]["incarnation"].tolist() == [0, 1]
    assert rows.audited("answers") == ALL


def test_a_fault_is_armed_once_the_one_before_was_carried_out(tmp_path: Path) -> None:
    faults = [fault("pause", "publish", nth=30, heal="100ms"), fault("pause", "ack", nth=1, heal="100ms"),
              {"at": "400ms", "action": "restart", "target": "embed-1", "heal": "100ms"}]  # fmt: skip
    rows = live(nats(), tmp_path, faults)
    assert rows.run.faults_carried_out == [0, 1, 2]
    hits = rows.of("fault")
    assert hits["code"].tolist() == [0, 1, 2]
    published = rows.of("publish", "invoke", "embed")
    assert np.count_nonzero(published["time"] <= hits["time"][0]) >= 30  # counted over both instances
    acked = rows.of("ack", "invoke", "embed")
    assert np.any(acked["time"] < hits["time"][0])  # earlier ones did not count
    begin = rows.of("invoke")["aux"][0]
    assert hits["time"][2] - begin >= 400_000_000


def test_a_stopped_worker_waits_for_the_controller_only_briefly(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path, [fault("kill", "handle", nth=5)])
    hit = rows.of("fault")[0]
    before = rows.rows[(rows.rows["process"] == hit["process"]) & (rows.rows["time"] < hit["time"])]
    assert hit["time"] - before["time"][-1] < 100_000_000


def test_masked_requests_are_never_made(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path, masked=[3, 59])
    assert rows.audited("requests") == ALL - Counter([3, 59])


def test_transcripts_lead_a_fresh_module_to_the_same_rows(tmp_path: Path) -> None:
    rows = live(nats(), tmp_path, [fault("kill", "complete", nth=15)], transcripts=True)
    replays(rows.run)


def test_three_servers_outlive_the_kill_of_a_streams_leader(tmp_path: Path) -> None:
    kill = fault("kill", "publish", nth=20, target="leader of answers", heal="1s")
    rows = live(nats(3), tmp_path, [kill])
    target = rows.names[rows.of("fault")["process"][0]]
    assert target.startswith("nats-")
    # While the servers elect a leader nobody responds: such publishes fail. What was acknowledged is there.
    acked = Counter(rows.of("publish", process="producer")["message"].tolist())
    assert len(acked) > 0
    assert acked <= rows.audited("requests")
    assert set(rows.audited("answers")) == set(rows.audited("requests"))


def test_the_audit_waits_for_the_servers_to_elect_a_leader(tmp_path: Path) -> None:
    """What reads a stream in order is a consumer that the servers' leader makes; without one they do not answer."""
    with start_cluster(ClusterSpec("nats", "2.12", 3), tmp_path / "broker") as cluster:
        run = live(nats(3), tmp_path / "run", cluster=cluster).run
        logs = {node: (tmp_path / f"broker/nats-{node}/server.log").read_text() for node in (1, 2, 3)}
        leader = next(node for node, log in logs.items() if "Self is new JetStream cluster metadata leader" in log)
        cluster.kill(leader)
        again = tmp_path / "again.rows"
        arguments = lab_arguments(Files(run.folder / "scenario.toml", None), cluster, "")
        done = subprocess.run(
            [worker_program(), "--process", "auditor", *arguments, "--seed", "1", "--rows", str(again)],
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        records = RowFile(again).all_rows()
        assert len(records[records["op"] == 0]) >= 2 * len(ALL)


def test_runs_that_share_servers_do_not_see_each_other(tmp_path: Path) -> None:
    with start_cluster(ClusterSpec("nats", "2.12", 1), tmp_path / "broker") as cluster:
        for tag in ("a", "b"):
            rows = live(nats(), tmp_path / tag, cluster=cluster, tag=tag)
            assert rows.audited("answers") == ALL


def test_not_at_rest_in_time_is_said_in_the_rows(tmp_path: Path) -> None:
    never = nats(timeout="1s").replace('service_time = "2ms"', 'service_time = "100ms"')
    run = run_live(never, 1, [], tmp_path)
    assert not run.quiet
    assert "not at rest after 1 s" in run.problems[0]
    assert len(Rows(run).of("quiet", "fail")) == 1


@pytest.mark.parametrize(("action", "name"), [("clock_jump", "clock_jump")])
def test_what_only_the_simulation_can_do_is_refused_by_name(tmp_path: Path, action: str, name: str) -> None:
    with pytest.raises(CannotRunLive, match=name):
        run_live(nats(), 1, [fault(action, "complete")], tmp_path)
