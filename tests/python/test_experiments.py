"""Every experiment answers its question as it should, and its shortest story is short."""

from __future__ import annotations

from pathlib import Path

import mqlab
import pytest
from support import ROOT, call

HOLDS, VIOLATED = "holds", "violated"
FULL_LOGS = ("kafka-retention", "kafka-compaction", "nats-max-bytes")  # nothing is removed before much was stored
# experiment → changes, schedules, exit code, verdict by claim
EXPECTED: dict[str, tuple[str, list[str], int, int, dict[str, str]]] = {
    "at least once": ("kafka-at-least-once", [], 2000, 1, {"no_duplicates": VIOLATED, "no_loss": HOLDS}),
    "at most once": ("kafka-at-most-once", [], 2000, 1, {"no_loss": VIOLATED, "no_duplicates": HOLDS}),
    "automatic commits": ("kafka-auto-commit", [], 2000, 1, {"no_loss": VIOLATED, "no_duplicates": VIOLATED}),
    "transactional": (
        "kafka-transactional",
        [],
        20_000,
        0,
        {"exactly_once": HOLDS, "txn.read_committed": HOLDS, "txn.atomic": HOLDS},
    ),
    "read uncommitted": ("kafka-transactional-read-uncommitted", [], 500, 1, {"txn.read_committed": VIOLATED}),
    "reorder, java": ("kafka-reorder-in-flight", [], 2000, 1, {"order.partition": VIOLATED}),
    "reorder, librdkafka": (
        "kafka-reorder-in-flight",
        ["client.flavour=librdkafka"],
        2000,
        1,
        {"order.partition": HOLDS, "no_duplicates": VIOLATED},
    ),
    "reorder, idempotent": (
        "kafka-reorder-in-flight",
        ["workload.producer.enable.idempotence=true"],
        2000,
        0,
        {"order.partition": HOLDS, "no_duplicates": HOLDS},
    ),
    "concurrent handlers, up to the first unfinished": (
        "kafka-concurrent-handlers",
        [],
        10_000,
        0,
        {"commit.covers_processed": HOLDS, "no_loss": HOLDS},
    ),
    "concurrent handlers, the newest": (
        "kafka-concurrent-handlers",
        ["stages.worker.commit_up_to=newest"],
        2000,
        1,
        {"commit.covers_processed": VIOLATED, "no_loss": VIOLATED},
    ),
    "consumer protocol": (
        "kafka-consumer-protocol",
        [],
        5000,
        0,
        {"no_loss": HOLDS, "commit.covers_processed": HOLDS, "progress.consumer": HOLDS},
    ),
    "retry topics": ("kafka-retry-topics", [], 200, 1, {"order.key": VIOLATED, "no_loss": HOLDS}),
    "retry in place": (
        "kafka-retry-topics",
        ["stages.worker.retry.style=in_place"],
        200,
        0,
        {"order.key": HOLDS, "no_loss": HOLDS},
    ),
    "recovery, a session of 45 s": ("kafka-recovery", [], 500, 1, {"answered": VIOLATED, "recovers": VIOLATED}),
    "recovery, a session of 2 s": (
        "kafka-recovery",
        ["stages.worker.consumer.session.timeout.ms=2000"],
        5000,
        0,
        {"answered": HOLDS, "recovers": HOLDS},
    ),
    "order between partitions": (
        "kafka-order-between-partitions",
        [],
        500,
        1,
        {"order.total": VIOLATED, "order.causal": VIOLATED},
    ),
    "order in a partition": (
        "kafka-order-between-partitions",
        ["topics.chat.partitions=1"],
        5000,
        0,
        {"order.total": HOLDS, "order.causal": HOLDS},
    ),
    "retention": ("kafka-retention", [], 300, 1, {"no_loss": HOLDS, "disk.bounded": VIOLATED}),
    "retention, nothing excused": (
        "kafka-retention",
        ["claims.no_loss.excused=[]", "claims.disk.bounded.at_most=9MB"],
        300,
        1,
        {"no_loss": VIOLATED, "disk.bounded": HOLDS},
    ),
    "compaction": ("kafka-compaction", [], 300, 1, {"no_loss": VIOLATED}),
    "compaction, tombstones outlive absence": (
        "kafka-compaction",
        ['topics.requests.properties."delete.retention.ms"=60000'],
        500,
        0,
        {"no_loss": HOLDS},
    ),
    "compaction, nothing excused": (
        "kafka-compaction",
        ['topics.requests.properties."delete.retention.ms"=60000', "claims.no_loss.excused=[]"],
        300,
        1,
        {"no_loss": VIOLATED},
    ),
    "max_bytes": ("nats-max-bytes", [], 2000, 0, {"no_loss": HOLDS, "disk.bounded": HOLDS}),
    "max_bytes, nothing excused": ("nats-max-bytes", ["claims.no_loss.excused=[]"], 500, 1, {"no_loss": VIOLATED}),
    "quota": ("kafka-quota", [], 100, 1, {"no_loss": HOLDS, "no_duplicates": VIOLATED}),
    "quota, idempotent": (
        "kafka-quota",
        ["workload.producer.enable.idempotence=true"],
        100,
        0,
        {"no_loss": HOLDS, "no_duplicates": HOLDS},
    ),
    "quota, a client that waits": (
        "kafka-quota",
        ["client.flavour=java", 'workload.producer={"linger.ms"=0, "enable.idempotence"=false}'],
        100,
        0,
        {"no_loss": HOLDS, "no_duplicates": HOLDS},
    ),
    "poll interval": ("kafka-poll-interval", [], 5, 1, {"progress.consumer": VIOLATED}),
    "scaled out and in": (
        "kafka-scale",
        [],
        3000,
        0,
        {"no_loss": HOLDS, "no_duplicates": HOLDS, "order.key": HOLDS, "progress.consumer": HOLDS},
    ),
    "scaled in with automatic commits": ("kafka-scale-auto-commit", [], 500, 1, {"no_loss": VIOLATED}),
    "partitions added": ("kafka-more-partitions", [], 500, 1, {"no_loss": VIOLATED, "no_duplicates": HOLDS}),
    "partitions added, read from the earliest": (
        "kafka-more-partitions",
        ["stages.worker.consumer.auto.offset.reset=earliest"],
        2000,
        0,
        {"no_loss": HOLDS, "no_duplicates": HOLDS},
    ),
    "ack wait": ("nats-ack-wait", [], 500, 1, {"no_duplicates": VIOLATED}),
    "in progress": ("nats-in-progress", [], 2000, 0, {"no_duplicates": HOLDS}),
    "ordered consumer": ("nats-ordered-consumer", [], 2000, 0, {"order.partition": HOLDS}),
    "stuck pull": ("nats-stuck-pull", [], 500, 1, {"progress.consumer": VIOLATED}),
    "a pull that goes on": (
        "nats-stuck-pull",
        ["stages.worker.consumer.ack_wait=2s"],
        2000,
        0,
        {"progress.consumer": HOLDS},
    ),
    # nats-server#7564, and its mend
    "power loss": ("nats-power-loss", [], 500, 1, {"no_loss": VIOLATED}),
    "sync always": ("nats-sync-always", [], 10_000, 0, {"no_loss": HOLDS}),
    "a process kill is no power loss": ("nats-power-loss", ["faults.menu=['kill']"], 2000, 0, {"no_loss": HOLDS}),
    # nothing of what was answered; the acknowledgements of who reads
    "full disk": ("nats-full-disk", [], 2000, 1, {"no_loss": HOLDS, "no_duplicates": VIOLATED}),
    "nor with sync always": ("nats-sync-always", ["faults.menu=['kill']"], 2000, 0, {"no_loss": HOLDS}),
}


@pytest.mark.parametrize(("name", "changes", "schedules", "code", "verdicts"), EXPECTED.values(), ids=EXPECTED.keys())
def test_answers(
    name: str, changes: list[str], schedules: int, code: int, verdicts: dict[str, str], tmp_path: Path
) -> None:
    options = [part for change in changes for part in ("--set", change)]
    called = call(
        "verify", ROOT / f"experiments/{name}.toml", "--schedules", schedules, "--json", "--out", tmp_path, *options
    )
    assert called.out, called.err
    claims = {claim["claim"]: claim for claim in called.json["claims"]}
    said = {claim: (claims[claim]["verdict"], claims[claim]["explanation"]) for claim in verdicts}
    assert {claim: verdict for claim, (verdict, _) in said.items()} == verdicts, said
    assert called.code == code
    for claim in claims.values():
        if claim["counterexample"] is not None:
            story = mqlab.read_counterexample(tmp_path / Path(claim["counterexample"]).name)
            assert story.scenario.core.faults <= 1
            if name not in FULL_LOGS:
                assert len(story.messages or ()) <= 4


def test_a_late_or_unanswered_end_tears_a_transaction(tmp_path: Path) -> None:
    """As published of the first transaction protocol (KIP-890; jepsen.io/analyses/bufstream-0.1.0)."""
    scenario = mqlab.load(ROOT / "experiments/kafka-transactional-delayed-end.toml")
    verdicts = mqlab.verify(scenario, out=tmp_path)
    assert verdicts["txn.atomic"].verdict == VIOLATED
    story = verdicts["txn.atomic"].counterexample
    assert story is not None
    assert story.scenario.core.faults == 1


def test_the_second_protocol_fences_a_late_end(tmp_path: Path) -> None:
    """KIP-890: the epoch rises with every end. The same scenario on 3.9, where Java speaks the first, is torn."""
    scenario = mqlab.load(ROOT / "experiments/kafka-transactional-delayed-end-mended.toml")
    mended = mqlab.verify(scenario, schedules=10_000, out=tmp_path / "mended")
    assert {verdict.verdict for verdict in mended} == {HOLDS}
    torn = mqlab.verify(scenario.with_({"broker.version": "3.9"}), schedules=200, out=tmp_path / "torn")
    assert torn["txn.atomic"].verdict == VIOLATED


@pytest.mark.parametrize(
    ("name", "mended", "schedules"),
    [
        ("nats-stream-forgotten", "2.10.23", 2000),  # nats-server#6888
        ("nats-minority-peer-remove", "2.12.3", 2000),  # nats-server#7545, #7561
        ("nats-staged-id", "2.10.26", 5000),  # nats-server#6415, #6486
    ],
)
def test_a_fault_of_an_old_server_is_found_and_its_mend_holds(
    name: str, mended: str, schedules: int, tmp_path: Path
) -> None:
    scenario = mqlab.load(ROOT / f"experiments/{name}.toml")
    faulty = mqlab.verify(scenario, schedules=schedules, out=tmp_path / "faulty")
    assert faulty["no_loss"].verdict == VIOLATED
    story = faulty["no_loss"].counterexample
    assert story is not None
    assert story.scenario.core.faults <= 2
    assert len(story.messages or ()) <= 8
    sound = mqlab.verify(scenario.with_({"broker.version": mended}), schedules=10_000, out=tmp_path / "mended")
    assert sound["no_loss"].verdict == HOLDS


@pytest.mark.parametrize(
    ("name", "claim", "schedules"),
    [
        ("redpanda-3039", "no_duplicates", 2000),
        ("redpanda-3036", "txn.read_committed", 2000),
        ("redpanda-9571", "exactly_once", 10_000),
        ("redpanda-6018", "txn.atomic", 10_000),
    ],
)
def test_a_published_fault_of_another_broker_is_found_and_without_it_all_holds(
    name: str, claim: str, schedules: int, tmp_path: Path
) -> None:
    scenario = mqlab.load(ROOT / f"experiments/{name}.toml")
    faulty = mqlab.verify(scenario, schedules=schedules, out=tmp_path / "faulty")
    assert faulty[claim].verdict == VIOLATED
    story = faulty[claim].counterexample
    assert story is not None
    assert story.scenario.core.faults <= 2
    sound = scenario.with_({"broker.properties.mqlab.known.bugs": ""})
    assert {v.verdict for v in mqlab.verify(sound, schedules=10_000, out=tmp_path / "mended")} == {HOLDS}


@pytest.mark.parametrize("path", sorted((ROOT / "experiments").glob("*.toml")), ids=lambda path: path.stem)
def test_is_complete_and_says_its_question(path: Path) -> None:
    scenario = mqlab.load(path)
    assert scenario.name == path.stem
    assert scenario.question.endswith("?")
    assert scenario.core.claims
    assert mqlab.Scenario(scenario.to_toml(), "complete.toml") == scenario


def test_idle_time_longer_than_the_horizon_is_no_unrest() -> None:
    """A client may be silent for max.poll.interval.ms before the system counts as idle."""
    scenario = mqlab.load(ROOT / "experiments/kafka-transactional.toml")
    run = mqlab.run(scenario.with_({"stages.worker.consumer.max.poll.interval.ms": 600_000, "limits.horizon": "60s"}))
    assert {verdict.verdict for verdict in run.verdicts} == {HOLDS}


def test_two_stories_of_automatic_commits_differ(tmp_path: Path) -> None:
    verdicts = mqlab.verify(mqlab.load(ROOT / "experiments/kafka-auto-commit.toml"), out=tmp_path)
    assert verdicts["no_loss"].story != verdicts["no_duplicates"].story
