"""Nothing that the live world starts outlives it, and what fails is said in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from live_support import nats
from mqlab.errors import BrokerError
from mqlab.live import brokers, free_ports, kafka_image
from mqlab.live.brokers import make_cluster, start_cluster
from mqlab.live.cluster import ClusterSpec
from mqlab.live.controller import run_live
from mqlab.live.processes import Child, wait_until
from mqlab.live.row_files import HEADER_BYTES, RowFile

SLOW = nats(timeout="60s").replace('rate = "400/s"', 'rate = "5/s"')
RUN = "import sys; from mqlab.live.controller import run_live; run_live(open(sys.argv[1]).read(), 1, [], sys.argv[2])"


def children(folder: Path) -> list[psutil.Process]:
    """Every process whose command line names the run's folder, but the one that runs it."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if any(str(folder) in word for word in line) and RUN not in line:
            found.append(process)
    return found


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A live run in an interpreter of its own, with all of its processes up."""
    scenario, folder = tmp_path / "slow.toml", tmp_path / "run"
    scenario.write_text(SLOW)
    with subprocess.Popen([sys.executable, "-c", RUN, str(scenario), str(folder)], stderr=subprocess.PIPE) as process:
        started = wait_until(lambda: len(children(folder)) >= 6, 30)  # server, probe, producer, 2 workers, observer
        assert started
        yield process, folder
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_controller(running: tuple[subprocess.Popen[bytes], Path], number: int) -> None:
    process, folder = running
    process.send_signal(number)
    process.wait(20)
    assert wait_until(lambda: not children(folder), 10)


def test_a_stopped_worker_does_not_outlive_it_either(running: tuple[subprocess.Popen[bytes], Path]) -> None:
    process, folder = running
    worker = next(p for p in children(folder) if "embed-0" in p.info["cmdline"])
    rows = RowFile(folder / "workers" / "embed-0.0.rows")
    assert wait_until(lambda: len(rows.all_rows()) > 0, 10)
    worker.send_signal(signal.SIGSTOP)
    process.kill()
    assert wait_until(lambda: not children(folder), 10)


def test_a_run_from_a_thread_keeps_its_processes(tmp_path: Path) -> None:
    """The kernel's parent-death signal follows threads: a child must not die with the thread that asked for it."""
    cluster = make_cluster(ClusterSpec("nats", "", 1), tmp_path)
    starter = threading.Thread(target=cluster.start)
    starter.start()
    starter.join()
    with cluster:
        assert cluster.nodes[0].child is not None
        assert not cluster.nodes[0].child.ended.wait(0.5)


def test_a_broker_that_dies_under_a_run_is_named(tmp_path: Path) -> None:
    def kill_server() -> None:
        wait_until(lambda: len(children(tmp_path)) >= 6, 30)
        for process in children(tmp_path):
            if "nats-server" in process.info["cmdline"][0]:
                process.kill()

    thread = threading.Thread(target=kill_server)
    thread.start()
    with pytest.raises(BrokerError, match=r"nats-1 ended by itself"):
        run_live(SLOW, 1, [], tmp_path)
    thread.join()
    assert children(tmp_path) == []


def test_a_worker_that_dies_under_a_run_is_named(tmp_path: Path) -> None:
    def kill_worker() -> None:  # as the kernel does when memory runs out
        wait_until(lambda: len(children(tmp_path)) >= 6, 30)
        next(p for p in children(tmp_path) if "embed-1" in p.info["cmdline"]).kill()

    thread = threading.Thread(target=kill_worker)
    thread.start()
    with pytest.raises(BrokerError, match=r"embed-1 ended \(exit -9\)"):
        run_live(SLOW, 1, [], tmp_path)
    thread.join()
    assert children(tmp_path) == []


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    spec = ClusterSpec("nats", "", 1, {"no_such_setting": "1"})
    with pytest.raises(BrokerError, match=r"nats-1 ended by itself.*no_such_setting"):
        start_cluster(spec, tmp_path)
    assert children(tmp_path) == []


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    import socket

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(BrokerError, match=rf"port {port} on 127\.0\.0\.1 is taken"):
            start_cluster(ClusterSpec("nats", "", 1, first_port=port), tmp_path)


def test_two_reservations_never_share_a_port() -> None:
    first, second = free_ports.Reservation(20), free_ports.Reservation(20)
    assert not set(first.ports) & set(second.ports)
    first.release()
    second.release()


def test_without_java_kafka_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(BrokerError, match=r"^no Java"):
        start_cluster(ClusterSpec("kafka", "4.1", 1), tmp_path / "kafka")


def test_without_jars_and_maven_kafka_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(Path(kafka_image.java_program()).resolve().parents[1]))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MQLAB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(BrokerError, match=r"jars are missing.*Maven"):
        start_cluster(ClusterSpec("kafka", "4.1", 1), tmp_path / "kafka")


@pytest.mark.parametrize(("kind", "nodes"), [("pulsar", 1), ("nats", 2)])
def test_what_cannot_be_run_here_is_refused(tmp_path: Path, kind: str, nodes: int) -> None:
    with pytest.raises(BrokerError, match=kind if kind == "pulsar" else "2 nodes"):
        start_cluster(ClusterSpec(kind, "", nodes), tmp_path)


def test_a_broker_is_put_up_asked_about_and_put_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQLAB_CACHE", str(tmp_path))
    assert brokers.status("nats") is None
    standing = brokers.up("nats")
    try:
        again = brokers.status("nats")
        assert again is not None
        assert again.alive == standing.pids
        with pytest.raises(BrokerError, match="is up already"):
            brokers.up("nats")
    finally:
        assert brokers.down("nats")
    assert not brokers.down("nats")
    assert wait_until(lambda: not children(tmp_path), 5)


def test_a_row_file_cut_short_is_a_problem(tmp_path: Path) -> None:
    run = run_live(nats(), 1, [], tmp_path)
    path = next(file for file in run.files if file.name.startswith("embed-0"))
    assert RowFile(path).problem(killed=False) == ""
    os.truncate(path, HEADER_BYTES + 100)
    assert "cut short" in RowFile(path).problem(killed=True)
    os.truncate(path, 10)
    assert "not a row file" in RowFile(path).problem(killed=True)
    assert "missing" in RowFile(tmp_path / "absent.rows").problem(killed=True)


def test_a_childs_stop_and_end_are_told(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    seen = threading.Event()

    def watch(_: Child, what: str, status: int) -> None:
        told.append((what, status))
        seen.set()

    child = Child("sleeper", ["/bin/sleep", "60"], log=tmp_path / "log", guarded=False, watcher=watch)
    child.signal(signal.SIGSTOP)
    assert seen.wait(5)
    child.kill()
    assert wait_until(lambda: len(told) == 2, 5)
    assert told == [("stopped", signal.SIGSTOP), ("exited", -signal.SIGKILL)]
