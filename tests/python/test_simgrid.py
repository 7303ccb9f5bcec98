"""Shared links by SimGrid: equal to the network in the process where nothing contends, fair where something does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mqlab
import numpy as np
import psutil
import pytest
from mqlab import _core
from support import call

ROOT = Path(__file__).resolve().parents[2]
# Redpanda's are Kafka's again, with a published fault; in one of them two connections between the same brokers meet.
EXPERIMENTS = [path for path in sorted((ROOT / "experiments").glob("*.toml")) if "redpanda" not in path.stem]
ROW = _core.ROW.names
OF_DISKS = ["disk_full", "fsync_error"]
ACTIONS = ["kill", "restart", "pause", "power_loss", "partition", "delay", "drop_response", "reset", *OF_DISKS]


def mesh(path: Path, hosts: list[str], bandwidth: str) -> None:
    """A platform in which every host has a link of its own to every other, so that nothing is shared."""
    pairs = [(a, b) for a in hosts for b in hosts if a != b]
    lines = [
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1"><zone id="mesh" routing="Full">',
        *(f'<host id="{name}" speed="1Gf"/>' for name in hosts),
        *(f'<link id="{a}--{b}" bandwidth="{bandwidth}" latency="100us"/>' for a, b in pairs),
        *(f'<route src="{a}" dst="{b}" symmetrical="NO"><link_ctn id="{a}--{b}"/></route>' for a, b in pairs),
        "</zone></platform>",
    ]
    path.write_text("\n".join(lines))


def both_networks(
    scenario: mqlab.Scenario, tmp_path: Path, bandwidth: tuple[str, str], **changes: Any
) -> tuple[mqlab.Run, mqlab.Run]:
    """The scenario in the process and over a mesh of the same latency and bandwidth (as the lab and SimGrid say it)."""
    mesh(tmp_path / "mesh.xml", [p.name for p in _core.Topology(scenario.core).processes], bandwidth[1])
    plain = {**scenario.to_dict(), **changes}
    inside = {"latency": "100us"} | ({"bandwidth": bandwidth[0]} if bandwidth[0] else {})
    return (
        mqlab.run(mqlab.load(plain | {"network": inside})),
        mqlab.run(mqlab.load(plain | {"network": {"platform": str(tmp_path / "mesh.xml")}})),
    )


def equal(inside: mqlab.Run, over: mqlab.Run) -> bool:
    """The same rows at the same times: what happens at the very same instant has no order that both must share."""
    return np.array_equal(np.sort(inside.record.rows, order=ROW), np.sort(over.record.rows, order=ROW))


def spread(scenario: mqlab.Scenario) -> mqlab.Scenario:
    """Handlers that never take equally long: else what two processes do at one instant decides what comes of it."""
    span = {"kind": "lognormal", "p50": "5ms", "p99": "20ms"}
    return scenario.with_({f"stages.{stage.name}.service_time": span for stage in scenario.core.stages})


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_without_contention_the_histories_are_equal(path: Path, tmp_path: Path) -> None:
    inside, over = both_networks(mqlab.load(path), tmp_path, ("1000MB/s", "1000MBps"))
    assert len(inside.record) > 25
    assert inside.hash == over.hash


@pytest.mark.parametrize("hit", ["broker", "stage"])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("name", ["kafka-transactional", "kafka-at-least-once", "nats-in-progress"])
def test_every_fault_is_the_same_over_both_networks(name: str, action: str, hit: str, tmp_path: Path) -> None:
    if action in OF_DISKS and hit == "stage":
        return  # nobody but a broker has a disk
    scenario = mqlab.load(ROOT / "experiments" / f"{name}.toml")
    stage = scenario.core.stages[0].name
    if action in ("delay", "drop_response", "reset"):  # of a client's request, so the broker is where it goes
        step = {"kafka": "request.fetch", "nats": "request.ack"}[scenario.core.brokers[0].kind]
        fault: dict[str, Any] = {"at": {"process": stage, "step": step, "nth": 1 if hit == "broker" else 2}}
    else:
        fault = {"at": "600ms", "target": f"{scenario.core.brokers[0].name}-1" if hit == "broker" else stage}
    # Links without end: what is sent anew would otherwise share one with what follows it.
    faults = [{**fault, "action": action, "heal": "2s"}]
    inside, over = both_networks(spread(scenario), tmp_path, ("", "1000000GBps"), fault=faults, faults={})
    assert inside.faults_reached
    assert over.faults_reached
    assert equal(inside, over)


RACKS = """
name = "racks"
[broker]
kind = "kafka"
nodes = 1
[topic]
name = "requests"
[workload]
name = "api"
topic = "requests"
messages = 400
rate = "10000/s"
size = "100KB"
producers = 4
producer = { acks = 1, "batch.size" = 100000, "linger.ms" = 0 }
[claims]
no_loss = { of = "requests", in = "requests" }
[network]
racks = { racks = 2, hosts = 8, rack = "20MB/s" }
place = { kafka = "zone1-rack2-host1", api = "zone1-rack1-host1", api-3 = "zone1-rack2-host2" }
"""


def test_a_saturated_uplink_is_shared_as_the_closed_form_says(tmp_path: Path) -> None:
    """Three producers behind a rack's uplink of 20 MB/s get a third each; the fourth is in the broker's own rack."""
    path = tmp_path / "racks.toml"
    path.write_text(RACKS)
    frame = mqlab.run(mqlab.load(path)).history
    done = frame[(frame.kind == "publish") & (frame.phase == "ok")]
    last = (done.groupby("process", observed=True).time.max() - frame[frame.kind == "publish"].time.min()) / 1e9
    for name in ("api-0", "api-1", "api-2"):  # 300 messages of 100,000 bytes over 20 MB/s
        assert last[name] == pytest.approx(1.5, rel=0.01)
    assert last["api-3"] < 0.2


def test_two_runs_are_equal(tmp_path: Path) -> None:
    path = tmp_path / "racks.toml"
    path.write_text(RACKS.replace("messages = 400", "messages = 40"))
    assert mqlab.run(mqlab.load(path)).hash == mqlab.run(mqlab.load(path)).hash


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ('platform = "x.xml"\nracks = {}', "network.racks: there is a `platform` already"),
        ('latency = "1ms"\nracks = {}', "network.latency: comes from the links"),
        ('bandwidth = "1MB/s"\nracks = {}', "network.bandwidth: comes from the links"),
        ('place = { kafka = "zone1-rack1-host1" }', "network.place: needs a `platform` or `racks`"),
        ('racks = {}\nplace = { kafka = "zone1-rack1-hots1" }', "zone1-rack1-host1"),
        ('racks = {}\nplace = { kafak = "zone1-rack1-host1" }', "network.place.kafak"),
        ("racks = { racks = 65 }", "network.racks.racks"),
        ("racks = { racks = 64, hosts = 64 }", "network.racks.hosts: makes more than 1,024"),
        ('racks = { rack = "20 parsecs" }', "network.racks.rack"),
        ('racks = { rakc = "20MB/s" }', "rack"),
        ('platform = "none.xml"', "none.xml"),
    ],
)
def test_what_cannot_be_is_one_line(network: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "racks.toml"
    path.write_text(f"{RACKS.partition('[network]')[0]}[network]\n{network}\n")
    done = call("run", str(path), "--out", str(tmp_path / "out"))
    assert done.code == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "<platform", "no xml", '<?xml version="1.0"?><platform version="4.1"/>'])
def test_a_broken_platform_file_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "broken.xml").write_text(text)
    path = tmp_path / "racks.toml"
    path.write_text(RACKS.partition("racks = {")[0] + 'platform = "broken.xml"\n')
    done = call("run", str(path), "--out", str(tmp_path / "out"))
    assert done.code == 2
    assert "broken.xml" in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_search_says_that_it_takes_the_other_network(tmp_path: Path) -> None:
    path = tmp_path / "racks.toml"
    path.write_text(RACKS)
    done = call("verify", str(path), "--out", str(tmp_path / "out"))
    assert done.code == 2
    assert "network.racks: is for single runs" in done.err


def children(process: psutil.Process) -> Iterator[psutil.Process]:
    return (child for child in process.children() if "mqlab.simgrid" in child.cmdline())


def test_an_interrupted_run_ends_its_child(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(RACKS.replace("messages = 400", "messages = 400000"))
    command = [sys.executable, "-m", "mqlab.cli.main", "run", str(path), "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        watched = psutil.Process(process.pid)
        child = None
        while process.poll() is None and (child := next(children(watched), None)) is None:
            pass
        assert child is not None
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "interrupted" in said
    # Interrupted before it knew its child, it leaves that to see the end of its input.
    assert psutil.wait_procs([child], timeout=30)[1] == []
    assert not (tmp_path / "out").exists()


def test_sweeps_run_over_racks(tmp_path: Path) -> None:
    path = tmp_path / "racks.toml"
    path.write_text(RACKS.replace("messages = 400", "messages = 60"))
    table = mqlab.sweep(mqlab.load(path), {"network.racks.rack": ["20MB/s", "200MB/s"]}, jobs=2)
    slow, fast = table.latency_max
    assert slow > 2 * fast


def test_the_platform_is_kept_with_the_result() -> None:
    whole = tomllib.loads(mqlab.Scenario(RACKS, "racks.toml").to_toml())["network"]
    assert whole["racks"]["rack"] == "20000000B/s"
    assert whole["place"]["kafka"] == "zone1-rack2-host1"
    assert "latency" not in whole
