"""A workload file of OpenMessaging Benchmark (Workload.java): how many of what, at which rate, for how long."""

from __future__ import annotations

from dataclasses import dataclass

from mqlab.omb.files import Table, read_table

# Of Workload.java, and what its forks add.
_KEYS = (
    "name", "topics", "partitionsPerTopic", "keyDistributor", "messageSize", "useRandomizedPayloads",
    "randomBytesRatio", "randomizedPayloadPoolSize", "payloadFile", "subscriptionsPerTopic", "producersPerTopic",
    "consumerPerSubscription",
    "producerRate", "producerStartRate", "acceptableBacklog", "producerIncrementRate", "producerIncrementSeconds",
    "consumerBacklogSizeGB", "backlogDrainRatio", "producerPauseBeforeDrain", "producerPauseDuringDrain",
    "messageRateReceivedForSubscription", "testDurationMinutes", "warmupDurationMinutes",
)  # fmt: skip
# KeyDistributor.java: keys are taken from 10,000 made before.
_DISTRIBUTORS = {
    "NO_KEY": '"none"',
    "KEY_ROUND_ROBIN": '{ kind = "round_robin", count = 10000 }',
    "RANDOM_NANO": '{ kind = "uniform", count = 10000 }',
}


@dataclass(frozen=True)
class Workload:
    """One file's content. Rates are over all topics; `duration`: seconds of the test, without its warm-up."""

    table: Table
    name: str
    topics: int
    partitions: int
    message_bytes: int
    keys: str  # TOML
    subscriptions: int  # per topic
    consumers: int  # per subscription
    producers: int  # per topic
    rate: int  # messages a second
    duration: float

    def settings(self) -> list[tuple[str, str]]:
        """What a scenario's `[workload] omb = "FILE"` stands for: its keys and values as TOML."""
        return [
            ("rate", f'"{self.rate}/s"'),
            ("duration", f'"{self.duration:g}s"'),
            ("size", f'"{self.message_bytes}B"'),
            ("keys", self.keys),
            ("producers", str(self.producers)),
        ]


def read_workload(file: str) -> Workload:
    """Raises ScenarioError for what is no workload, or asks for what is not run."""
    table = read_table(file, _KEYS, "OpenMessaging Benchmark workload")
    rate = table.whole("producerRate")
    if rate == 0:
        raise table.wrong("producerRate", "0 lets the benchmark look for the highest rate; give the rate to run")
    for key in ("consumerBacklogSizeGB", "producerIncrementRate"):
        if key in table and table.whole(key) > 0:
            raise table.wrong(key, "must be 0: a backlog built first, or a rate that grows, is not run")
    distributor = table.text("keyDistributor", "NO_KEY")
    if distributor not in _DISTRIBUTORS:
        raise table.wrong("keyDistributor", f"{distributor!r} must be one of {', '.join(_DISTRIBUTORS)}")
    return Workload(
        table=table,
        name=table.text("name", "omb"),
        topics=table.whole("topics", 1, 1),
        partitions=table.whole("partitionsPerTopic", 1, 1),
        message_bytes=table.whole("messageSize", None, 1),
        keys=_DISTRIBUTORS[distributor],
        subscriptions=table.whole("subscriptionsPerTopic", 1),
        consumers=table.whole("consumerPerSubscription", 1, 1),
        producers=table.whole("producersPerTopic", 1, 1),
        rate=rate,
        duration=table.number("testDurationMinutes") * 60,
    )
