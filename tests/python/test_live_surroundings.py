"""Power loss, cut networks and delayed requests on real brokers: what they do to a run, and what is left of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from live_support import Rows, fault, kafka, nats
from mqlab.errors import BrokerError
from mqlab.live import disks, namespaces, syncs
from mqlab.live.controller import run_live
from mqlab.live.processes import Child, wait_until
from mqlab.live.surroundings import CannotRunLive, Surroundings, surroundings_of

PROCESSES: list[dict[str, Any]] = [{"role": "broker"}, {"role": "stage"}]


def described(action: str, step: str = "complete", *, target: int = 0, timed: bool = False) -> dict[str, Any]:
    return {
        "action": action, "step": step, "timed": timed, "portable": True, "leader_of": None, "targets": [target]
    }  # fmt: skip


def left_behind(folder: Path) -> list[str]:
    """Mounts, loop devices and network devices of the lab's that outlived a run."""
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(folder) in line]
    loops = [
        str(file) for file in Path("/sys/block").glob("loop*/loop/backing_file") if str(folder) in file.read_text()
    ]
    devices = [d.name for d in Path("/sys/class/net").iterdir() if d.name == "br0" or d.name.startswith("p1")]
    return mounts + loops + devices


def refused(why_not: str, action: str, tmp_path: Path) -> bool:
    """Where this machine cannot do it, that it says so is what can be tested."""
    if why_not:
        with pytest.raises(CannotRunLive, match=action):
            run_live(nats(), 1, [fault(action, "complete", target="nats")], tmp_path)
    return bool(why_not)


# ---- what is needed, and what is refused ----


def test_each_fault_gets_what_it_needs_and_no_more() -> None:
    def needed(*faults: dict[str, Any]) -> Surroundings:
        return surroundings_of(faults, PROCESSES)

    assert needed(described("kill"), described("pause"), described("restart")) == Surroundings()
    assert needed(described("power_loss", target=1)) == Surroundings()  # a worker keeps nothing: it is a kill
    assert needed(described("delay", "request.end_txn")) == Surroundings(proxies=True)
    if not disks.why_not():
        assert needed(described("power_loss")) == Surroundings(disks=True)
        assert needed(described("disk_full")) == Surroundings(disks=True)
    if not syncs.why_not():
        assert needed(described("fsync_error")) == Surroundings(syncs=True)
    if not namespaces.why_not():
        assert needed(described("partition")) == Surroundings(network=True)


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ([described("clock_jump")], "clock_jump"),
        ([described("delay", "complete")], "delay: it happens to a request"),
        ([described("delay", "request.publish"), described("partition")], "partition together with"),
        ([{**described("kill", "append"), "portable": False}], "append: an anchor of the simulated world"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(faults: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(CannotRunLive, match=reason):
        surroundings_of(faults, PROCESSES)


@pytest.mark.parametrize(
    ("action", "what"), [("power_loss", "loop-mounted"), ("disk_full", "loop-mounted"), ("partition", "namespace")]
)
def test_who_is_not_root_is_told_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, action: str, what: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CannotRunLive, match=f"{action}: needs root.*{what}"):
        run_live(nats(), 1, [fault(action, "complete", target="nats")], tmp_path)
    assert not (tmp_path / "broker").exists()


# ---- power loss ----


def power_loss(tmp_path: Path, sync: str) -> Rows:
    scenario = nats().replace("nodes = 1", f'nodes = 1\nproperties = {{ sync_interval = "{sync}" }}', 1)
    rows = Rows(run_live(scenario, 1, [fault("power_loss", "complete", nth=20, target="nats")], tmp_path))
    assert rows.run.problems == []
    assert rows.run.reached
    assert left_behind(tmp_path) == []
    return rows


def test_what_was_not_synced_is_gone_after_a_power_loss(tmp_path: Path) -> None:
    if refused(disks.why_not(), "power_loss", tmp_path):
        return
    rows = power_loss(tmp_path, "2m")
    acked = set(rows.of("publish", process="producer")["message"].tolist())
    assert acked - set(rows.audited("requests")), "acknowledged, and lost"


def test_what_was_synced_survives_a_power_loss(tmp_path: Path) -> None:
    if refused(disks.why_not(), "power_loss", tmp_path):
        return
    rows = power_loss(tmp_path, "always")
    acked = set(rows.of("publish", process="producer")["message"].tolist())
    assert acked
    assert acked <= set(rows.audited("requests"))


# ---- full disks ----


def test_no_block_is_free_on_a_full_disk_until_there_is_room(tmp_path: Path) -> None:
    if refused(disks.why_not(), "disk_full", tmp_path):
        return
    contents = tmp_path / "contents"
    contents.mkdir()
    disk = disks.Disk(tmp_path / "disk.img", tmp_path / "disk")
    disk.make(contents)
    sleeper = Child("sleeper", disk.command(["sleep", "60"]), log=tmp_path / "log")
    try:
        seen = Path(f"/proc/{sleeper.pid}/root{disk.folder}")
        assert wait_until(lambda: seen.is_mount() or (seen / "lost+found").exists(), 10)
        (seen / "before").write_bytes(b"x" * 5000)
        disk.fill(sleeper.pid)
        with (seen / "before").open("ab") as file:
            file.write(b"y" * (8192 - 5000))  # the rest of its last block
        with pytest.raises(OSError, match="No space left"), (seen / "before").open("ab") as file:
            file.write(b"z")
        disk.make_room(sleeper.pid)
        with (seen / "before").open("ab") as file:
            file.write(b"z")
    finally:
        sleeper.kill()
    disk.wait_unmounted()


def disk_full(scenario: str, target: str, tmp_path: Path) -> Rows:
    one = fault("disk_full", "publish.ok", process="producer", nth=30, target=target, heal="1500ms")
    rows = Rows(run_live(scenario, 1, [one], tmp_path))
    assert rows.run.problems == []
    assert rows.run.reached
    assert left_behind(tmp_path) == []
    acked = set(rows.of("publish", process="producer")["message"].tolist())
    assert acked <= set(rows.audited("requests"))
    return rows


def test_a_broker_that_ends_itself_on_a_full_disk_comes_back_with_room(tmp_path: Path) -> None:
    if refused(disks.why_not(), "disk_full", tmp_path):
        return
    # Records of 2 KiB: by the 30th each partition's indexes have their first page. Without it a full disk may take all
    # of the segment, answered or not (docs/fidelity.md, a-full-disk-before-the-first-index-page).
    scenario = kafka().replace("messages = 40", "messages = 400").replace('size = "200B"', 'size = "2KiB"')
    rows = disk_full(scenario, "kafka", tmp_path)
    assert len(rows.of("stop", "fail", process="kafka-1")) == 1
    assert len(rows.of("publish", process="producer")) > 300


def test_a_server_that_stays_up_on_a_full_disk_is_started_anew(tmp_path: Path) -> None:
    if refused(disks.why_not(), "disk_full", tmp_path):
        return
    scenario = nats(timeout="60s").replace("messages = 60", "messages = 1200")
    rows = disk_full(scenario, "nats", tmp_path)
    assert len(rows.of("publish", "unknown", process="producer")) > 100
    assert len(rows.of("publish", process="producer")) > 100


# ---- syncs that fail ----

_SYNCS = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for _ in sys.stdin:
    os.write(file, b"x")
    try:
        os.fsync(file)
        print("synced", flush=True)
    except OSError as error:
        print(os.strerror(error.errno), flush=True)
"""


def test_syncs_fail_until_they_are_mended_and_the_process_goes_on(tmp_path: Path) -> None:
    if refused(syncs.why_not(), "fsync_error", tmp_path):
        return
    command = [sys.executable, "-c", _SYNCS, str(tmp_path / "file")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None

        def sync() -> str:
            assert writer.stdin is not None and writer.stdout is not None
            writer.stdin.write("\n")
            writer.stdin.flush()
            return writer.stdout.readline().strip()

        assert sync() == "synced"
        failing = syncs.FailingSyncs(writer.pid, tmp_path / "syncs.log")
        assert [sync(), sync()] == ["Input/output error"] * 2
        failing.end()
        assert sync() == "synced"
        writer.stdin.close()
    assert (tmp_path / "file").read_bytes() == b"xxxx"


def test_where_nothing_may_be_traced_the_fault_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(process: int, log: Path) -> None:
        raise BrokerError("strace could not attach")

    monkeypatch.setattr(syncs, "FailingSyncs", refuses)
    syncs.why_not.cache_clear()
    with pytest.raises(CannotRunLive, match="fsync_error: needs to trace a process of its own"):
        surroundings_of([described("fsync_error")], PROCESSES)
    monkeypatch.setattr(shutil, "which", lambda program: None)
    syncs.why_not.cache_clear()
    with pytest.raises(CannotRunLive, match="fsync_error: needs strace"):
        surroundings_of([described("fsync_error")], PROCESSES)
    syncs.why_not.cache_clear()


def test_a_process_that_may_not_be_traced_is_an_error(tmp_path: Path) -> None:
    if refused(syncs.why_not(), "fsync_error", tmp_path):
        return
    sleeper = Child("sleeper", ["sleep", "60"], log=tmp_path / "log")
    try:
        first = syncs.FailingSyncs(sleeper.pid, tmp_path / "first.log")
        with pytest.raises(BrokerError, match="strace could not attach"):  # only one may trace it
            syncs.FailingSyncs(sleeper.pid, tmp_path / "second.log")
        first.end()
        assert sleeper.alive
    finally:
        sleeper.kill()


def test_a_broker_that_cannot_sync_ends_and_comes_back(tmp_path: Path) -> None:
    if refused(syncs.why_not(), "fsync_error", tmp_path):
        return
    one = fault("fsync_error", "publish.ok", process="producer", nth=30, target="kafka", heal="1500ms")
    rows = Rows(run_live(kafka().replace("messages = 40", "messages = 400"), 1, [one], tmp_path))
    assert rows.run.problems == []
    assert rows.run.reached
    assert left_behind(tmp_path) == []
    assert len(rows.of("stop", "fail", process="kafka-1")) == 1
    acked = set(rows.of("publish", process="producer")["message"].tolist())
    assert len(acked) > 300
    assert acked <= set(rows.audited("requests"))


# ---- partitions ----


def test_a_partition_separates_two_processes_and_heals(tmp_path: Path) -> None:
    if refused(namespaces.why_not(), "partition", tmp_path):
        return
    network = namespaces.PrivateNetwork(tmp_path)
    try:
        here, there = network.member(1), network.member(2)
        command = there.command([sys.executable, "-m", "http.server", "9000", "--bind", there.address])
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
            try:
                assert namespaces.wait_until(lambda: here.can_connect(there.address, 9000), 20)
                network.cut(1, 2)
                assert not here.can_connect(there.address, 9000)
                network.join(1, 2)
                assert here.can_connect(there.address, 9000)
                network.cut(2, 1)  # the answer is lost: no connection either
                assert not here.can_connect(there.address, 9000)
                network.join(2, 1)
                assert here.can_connect(there.address, 9000)
            finally:
                server.kill()
    finally:
        network.stop()
    assert left_behind(tmp_path) == []


def test_a_worker_that_is_cut_off_loses_its_partitions_to_another(tmp_path: Path) -> None:
    if refused(namespaces.why_not(), "partition", tmp_path):
        return
    rows = Rows(run_live(kafka(), 1, [fault("partition", "publish.ok", nth=3, heal="4s")], tmp_path))
    assert rows.run.problems == []
    assert rows.run.reached
    cut_off = int(rows.of("fault")["process"][0])
    assigned = rows.of("assigned")
    taken = assigned[(assigned["process"] != cut_off) & (assigned["time"] > rows.of("fault")["time"][0])]
    assert len(taken) > 0, "its session ends, and the other worker is given all"
    assert sorted(rows.audited("answers")) == list(range(1, 41))


# ---- one request ----


def test_a_delayed_commit_is_asked_for_again_and_both_arrive(tmp_path: Path) -> None:
    held = fault("delay", "request.end_txn", nth=1, heal="2500ms")
    rows = Rows(run_live(kafka(module="transactional-stage", transactional=True), 1, [held], tmp_path))
    assert rows.run.problems == []
    assert rows.run.reached
    struck = rows.of("fault")[0]
    ended = rows.of("commit_transaction", process="embed")
    mine = ended[(ended["process"] == struck["process"]) & (ended["time"] > struck["time"])]
    waited = (mine["time"][0] - struck["time"]) / 1e6
    assert 1900 < waited < 2500, "after socket.timeout.ms the client asks again, past the request held back"
    # The first of the two, late, may end the transaction that is open by then, and tear it (KIP-890): one is lost so.
    assert len(set(range(1, 41)) - set(rows.audited("answers"))) <= 1


def test_a_lost_answer_of_nats_is_waited_for_in_vain(tmp_path: Path) -> None:
    lost = fault("drop_response", "request.publish", process="producer", nth=5)
    scenario = nats().replace("messages = 60", 'messages = 60\nproducer = { ack_timeout = "1s", msg_id = true }')
    rows = Rows(run_live(scenario, 1, [lost], tmp_path))
    assert rows.run.problems == []
    assert rows.run.reached
    assert sorted(rows.audited("requests").values()) == [1] * 60, "stored once: by the first, or by a repeat it drops"
