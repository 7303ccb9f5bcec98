"""The live place: real brokers, started here or given by their address, each kept as long as entries can share it."""

from __future__ import annotations

import ctypes
import re
import secrets
import socket
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from mqlab import _core
from mqlab.conformance.entry import Defaults, Entry
from mqlab.conformance.expect import Seen
from mqlab.conformance.java import JavaProbe
from mqlab.conformance.nats_requests import NatsRequests
from mqlab.conformance.observe import Mistake
from mqlab.conformance.runner import CANNOT, OTHER_VERSION, Outcome, held
from mqlab.errors import BrokerError
from mqlab.kafka_jars import full_version
from mqlab.live import kafka_image
from mqlab.live.brokers import start_cluster
from mqlab.live.cluster import ClusterSpec
from mqlab.live.nats import installed_version
from mqlab.live_run import LiveWorld
from mqlab.runs import Run
from mqlab.scenario import Scenario

_NO_HARM = "needs a broker of its own: it is harmed, or has settings of its own"


@dataclass
class LivePlace:
    """Use as a context manager: all that was started is stopped at the end."""

    address: str
    entries: Sequence[Entry]
    name: str = "live"
    done: dict[str, Run] = field(default_factory=dict)

    def __enter__(self) -> LivePlace:
        if self.address:
            _reach(self.address)
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="mqlab-conformance-")))
        self._world: LiveWorld | None = None
        self._unique = secrets.token_hex(4)
        self._probes: dict[str, JavaProbe | NatsRequests] = {}
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def in_order(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those that can share a broker one after the other, and those that harm it last."""
        return sorted(entries, key=self._broker_of)

    def _broker_of(self, entry: Entry) -> tuple[str, ...]:
        if self.name in entry.cannot:
            return (entry.broker, "")
        if entry.java or entry.nats or entry.defaults:
            return (entry.broker, "by hand")
        planned = entry.runs(self.name)[0]
        if planned.refused:
            return (entry.broker, "refused")
        table = entry.scenario(planned).to_dict()["broker"]
        harm = str(len(planned.faults) + len(table.get("quotas", {})))
        return (entry.broker, "run", f"{table['nodes']}", repr(table.get("properties")), harm)

    def version(self, entry: Entry) -> str:
        if entry.broker == "nats":
            return installed_version()
        return full_version(kafka_image.default_version())

    def refuses(self, entry: Entry) -> Outcome | None:
        version = self.version(entry)
        if not fits(version, entry.versions):
            return Outcome(entry, self.name, version, OTHER_VERSION, entry.versions, version)
        if self.address and self._needs_its_own(entry):
            return Outcome(entry, self.name, version, CANNOT, entry.says, _NO_HARM)
        return None

    def _needs_its_own(self, entry: Entry) -> bool:
        for planned in entry.runs(self.name):
            if planned.refused:
                continue
            whole = entry.scenario(planned).to_dict()
            hits_broker = any(
                fault.get("target", "").startswith((entry.broker, "leader of")) for fault in planned.faults
            )
            own = whole["broker"].get("properties") or whole["broker"].get("quotas")
            if hits_broker or own or whole["broker"]["nodes"] > 1:
                return True
        return False

    def run(self, scenario: Scenario) -> Run:
        key = scenario.to_toml()
        if key not in self.done:
            placed = scenario.with_({"live.address": self.address}) if self.address else scenario
            self.done[key] = self._live().run(placed, _core.Schedule(1))
        return self.done[key]

    def _live(self) -> LiveWorld:
        if self._world is None:
            self._world = LiveWorld(self._folder / "runs", self._stack)
        return self._world

    # ---- by hand ----

    def by_hand(self, entry: Entry) -> list[Seen]:
        steps = entry.java or entry.nats
        if entry.defaults and not steps:
            return self._defaults(entry, entry.defaults)
        if not steps:
            return []
        probe = self._probe(entry)
        probe.begin(f"mqlab-{self._unique}-{entry.fact.replace('/', '-')}")
        seen = []
        for step in steps:
            answer = probe.ask(step.request)
            good = answers(answer, step.answer, probe.prefix)
            seen.append(Seen(good, f"{step.request} → {step.answer}", str(answer)))
        return seen

    def _defaults(self, entry: Entry, wanted: Defaults) -> list[Seen]:
        owner, _, what = wanted.owner.partition(" ")
        if owner == "librdkafka":
            return held(librdkafka_defaults(), wanted)
        probe = self._probe(entry)
        return held({key: probe.ask(f"default {what} {key}") for key in wanted.values}, wanted)

    def _probe(self, entry: Entry) -> JavaProbe | NatsRequests:
        kind = "nats" if entry.nats else "java"
        if kind not in self._probes:
            address = self.address or self._started(entry.broker)
            version = full_version(kafka_image.default_version())
            probe = JavaProbe(version, address, self._folder) if kind == "java" else NatsRequests(address)
            self._probes[kind] = probe
            self._stack.callback(probe.close)
        return self._probes[kind]

    def _started(self, kind: str) -> str:
        version = full_version(kafka_image.default_version()) if kind == "kafka" else installed_version()
        cluster = start_cluster(ClusterSpec(kind, version, 1), self._folder / f"{kind}-by-hand")
        self._stack.callback(cluster.stop)
        return cluster.address


def _reach(address: str) -> None:
    """Raises BrokerError at once where nobody listens, rather than after the clients' patience."""
    host, _, port = address.split(",", maxsplit=1)[0].removeprefix("nats://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError) as error:
        raise BrokerError(f"{host}:{port} cannot be reached: {error}") from None


def librdkafka_defaults() -> dict[str, str]:
    """The library's own words: rd_kafka_conf_dump of a fresh configuration, and of a fresh one for topics."""
    library = ctypes.CDLL("librdkafka.so.1")
    found: dict[str, str] = {}
    for kind in ("rd_kafka_conf", "rd_kafka_topic_conf"):
        new, dump = getattr(library, f"{kind}_new"), getattr(library, f"{kind}_dump")
        new.restype = ctypes.c_void_p
        dump.restype, dump.argtypes = ctypes.POINTER(ctypes.c_char_p), [ctypes.c_void_p, ctypes.c_void_p]
        count = ctypes.c_size_t()
        words = dump(new(), ctypes.byref(count))
        for i in range(0, count.value, 2):
            found.setdefault((words[i] or b"").decode(), (words[i + 1] or b"").decode())
    return found


def answers(given: object, wanted: object, name: str = "") -> bool:
    """Equal; of tables, what is named in `wanted`; of texts, "~…" a part of it; of numbers, [low, high] as a range.
    "{}" in a text stands for `name`."""
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(answers(given.get(key), value, name) for key, value in wanted.items())
    if isinstance(wanted, str):
        text = wanted.replace("{}", name)
        return text[1:] in str(given) if text.startswith("~") else given == text
    if isinstance(wanted, list) and len(wanted) == 2 and isinstance(given, (int, float)):
        return bool(wanted[0] <= given <= wanted[1])
    return given == wanted


def fits(version: str, wanted: str) -> bool:
    """Whether "4.1.1" is in a range such as ">=3.7, <5"; an empty range holds all."""
    here = _numbers(version)
    for part in filter(None, (piece.strip() for piece in wanted.split(","))):
        found = re.fullmatch(r"(>=|<=|<|>|=)\s*([\d.]+)", part)
        if found is None:
            raise Mistake(f"versions: {part!r} is none such as >=3.7")
        there = _numbers(found[2])
        same = here[: len(there)]
        held = {">=": same >= there, "<": same < there, "<=": same <= there, ">": same > there, "=": same == there}
        if not held[found[1]]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
