"""Mends: the known right setting of violated experiments, and nothing superfluous in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mqlab
import pytest
from support import ROOT, call

# experiment → what may be varied, the claims looked at, the mends that are right
KNOWN: dict[str, tuple[dict[str, list[Any]], list[str], list[dict[str, Any]]]] = {
    "nats-power-loss": (
        {
            "workload.producer.ack_timeout": ["10s"],
            "broker.properties.sync_interval": ["30s", "always"],
            "streams.requests.properties.duplicate_window": ["1m"],
        },
        [],
        [{"broker.properties.sync_interval": "always"}],
    ),
    "nats-ack-wait": (
        {
            "stages.worker.consumer.max_ack_pending": [1, 10],
            "stages.worker.in_progress": ["50ms", "250ms"],
            "stages.worker.consumer.ack_sync": [True],
        },
        ["no_duplicates"],
        [{"stages.worker.in_progress": "50ms"}],
    ),
    "kafka-reorder-in-flight": (
        {
            "workload.producer.linger.ms": [5],
            "workload.producer.enable.idempotence": [True],
            "workload.producer.retry.backoff.ms": [500],
        },
        [],
        [{"workload.producer.enable.idempotence": True}],
    ),
    "kafka-transactional-read-uncommitted": (
        {
            "stages.worker.batch": [1],
            "observers.dashboard.consumer.isolation.level": ["read_committed"],
            "workload.rate": ["10/s"],
        },
        [],
        [{"observers.dashboard.consumer.isolation.level": "read_committed"}],
    ),
    "kafka-at-most-once": (
        {"stages.worker.commit": ["async"], "stages.worker.when": ["after"], "workload.producer.linger.ms": [5]},
        ["no_loss"],
        [{"stages.worker.when": "after"}],
    ),
    "kafka-auto-commit": (
        {
            "stages.worker.commit": ["sync"],
            "stages.worker.consumer.enable.auto.commit": [False],
            "stages.worker.consumer.auto.commit.interval.ms": [1000],
        },
        ["no_loss"],
        [{"stages.worker.consumer.enable.auto.commit": False}],
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_finds_the_known_right_setting(name: str) -> None:
    vary, claims, right = KNOWN[name]
    scenario = mqlab.load(ROOT / f"experiments/{name}.toml")
    mending = mqlab.mend(scenario, vary, claims=claims, schedules=600)
    assert mending.broken
    assert [dict(found.change) for found in mending.mends] == right
    assert mending.exit_code == 0
    for found in mending.mends:
        assert all(found.verdicts[scope].verdict == "holds" for scope in mending.broken)
        assert found.price.latency["p50"] > 0


def test_a_mend_of_two_settings_is_whole_and_nothing_in_it_superfluous(tmp_path: Path) -> None:
    """Two weaknesses, each enough to break the claim: only both mends together work."""
    text = (ROOT / "experiments/nats-power-loss.toml").read_text().replace('storage = "file"', 'storage = "memory"')
    scenario = mqlab.Scenario(text, "two.toml")
    vary: dict[str, list[Any]] = {
        "streams.requests.properties.storage": ["file"],
        "workload.producer.ack_timeout": ["10s"],
        "broker.properties.sync_interval": ["always"],
    }
    mending = mqlab.mend(scenario, vary, schedules=300)
    assert [set(dict(m.change)) for m in mending.mends] == [
        {"streams.requests.properties.storage", "broker.properties.sync_interval"}
    ]
    assert mending.tried <= 6  # single changes, then pairs; no triple


def test_the_price_is_that_of_the_runs() -> None:
    scenario = mqlab.load(ROOT / "experiments/nats-power-loss.toml")
    mending = mqlab.mend(scenario, {"broker.properties.sync_interval": ["always"]}, schedules=300)
    for priced, settings in ((mending.price, scenario), (mending.mends[0].price, mending.mends[0].scenario)):
        run = mqlab.run(settings)
        assert priced.latency["p99"] == run.latency.quantile(0.99)
        assert priced.throughput == run.throughput
    assert mending.mends[0].price.latency["p50"] > mending.price.latency["p50"]  # an fsync a message


def test_where_nothing_helps() -> None:
    scenario = mqlab.load(ROOT / "experiments/nats-power-loss.toml")
    mending = mqlab.mend(scenario, {"workload.producer.ack_timeout": ["10s", "20s"]}, schedules=300)
    assert (mending.mends, mending.exit_code, mending.tried) == ((), 1, 2)


def test_where_nothing_is_broken() -> None:
    scenario = mqlab.load(ROOT / "experiments/nats-sync-always.toml")
    mending = mqlab.mend(scenario, {"workload.producer.ack_timeout": ["10s"]}, schedules=300)
    assert (mending.broken, mending.exit_code, mending.tried) == ((), 0, 0)


def test_settings_that_contradict_are_told(tmp_path: Path) -> None:
    scenario = mqlab.load(ROOT / "experiments/kafka-reorder-in-flight.toml")
    mending = mqlab.mend(
        scenario, {"workload.producer.acks": ["1"], "workload.producer.enable.idempotence": [True]}, schedules=300
    )
    assert [dict(m.change) for m in mending.mends] == [{"workload.producer.enable.idempotence": True}]


def test_command(tmp_path: Path) -> None:
    file = ROOT / "experiments/nats-power-loss.toml"
    out = tmp_path / "mended.toml"
    vary = ("--vary", "broker.properties.sync_interval=30s,always", "--vary", "workload.producer.ack_timeout=10s")
    called = call("mend", file, *vary, "--schedules", 300, "--out", out)
    assert called.code == 0, called
    assert 'broker.properties.sync_interval = "always"' in called.out
    assert "none smaller works" in called.out
    assert mqlab.verify(mqlab.load(out), schedules=300, out=tmp_path)["no_loss"].verdict == "holds"
    document = call("mend", file, *vary, "--schedules", 300, "--json").json
    assert document["schema"] == "mqlab.mend/1"
    assert document["mends"][0]["change"] == {"broker.properties.sync_interval": "always"}
    assert document["price"]["latency"]["p50"] > 0


def test_bad_input_is_one_line() -> None:
    file = ROOT / "experiments/nats-power-loss.toml"
    for vary in ("broker.properties.sync_intervall=always", "nothing", "no.such.path=1"):
        called = call("mend", file, "--vary", vary)
        assert called.code == 2, called
        assert called.err.count("\n") == 1
    many = ",".join(map(str, range(1000)))
    assert call("mend", file, "--vary", f"workload.producer.max_pending={many}").code == 2
