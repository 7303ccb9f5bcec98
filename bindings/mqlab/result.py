"""The result folder of a run: whole or not there. Files are written beside it and put in place by one rename."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

from mqlab.errors import BrokerError, HistoryError
from mqlab.measure import QUANTILES, Latency, Measures, Nanoseconds
from mqlab.scenario import Scenario

FILES = (
    "scenario.toml",
    "environment.json",
    "result.json",
    "verdicts.json",
    "history.parquet",
    "latency.hdr",
)
_WINDOW_SECONDS = 1
_HIGHEST = 3_600_000_000_000  # of a latency in nanoseconds: one hour; longer ones are recorded as this


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A fresh folder that becomes `target` at the end; nothing of it remains when the body raises.

    Raises BrokerError, naming the reason, when the file system cannot take it, and when `target` exists.
    """
    target = target.absolute()
    with disk(target):
        if target.exists() and any(target.iterdir()):
            raise BrokerError(f"{target} exists already; a result is never written over another")
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            yield scratch
            _settle(scratch)
            if target.exists():
                target.rmdir()
            scratch.chmod(0o755)
            scratch.rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def disk(target: Path) -> Iterator[None]:
    """What the file system refuses becomes a BrokerError that names the reason."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else error.strerror or str(error)
        raise BrokerError(f"the result cannot be written to {target}: {reason}") from None


def _settle(folder: Path) -> None:
    """What is renamed into place must be on the disk: a full disk may show only now."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise HistoryError(f"{path} cannot be read: {' '.join(str(error).split())}") from None


def environment(scenario: Scenario, world: str, seed: int, more: Mapping[str, Any]) -> dict[str, Any]:
    """What else decided the run: versions, machine, seed, revision, client."""
    core = scenario.core
    return {
        "mqlab": _version("mqlab"),
        "revision": _revision(),
        "world": world,
        "seed": seed,
        "client": core.flavour,
        "warnings": core.unmodelled,
        "brokers": [{"name": b.name, "kind": b.kind, "version": b.version, "nodes": b.nodes} for b in core.brokers],
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        **more,
    }


def _version(package: str) -> str | None:
    with contextlib.suppress(PackageNotFoundError):
        return version(package)
    return None


def _revision() -> str | None:
    """The git revision of the package's own source, where it is used from one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    git = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    with contextlib.suppress(OSError):
        done = subprocess.run(git, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        return done.stdout.strip() or None
    return None


def result_document(measures: Measures, scenario: Scenario, more: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an OpenMessaging Benchmark result (milliseconds, messages per second), ours under "mqlab"."""
    core = scenario.core
    sizes = measures.requests["size"]
    document: dict[str, Any] = {
        "workload": scenario.name,
        "driver": core.brokers[0].kind if core.brokers else "",
        "messageSize": int(np.median(sizes)) if len(sizes) else 0,
        "topics": len(measures.history.topology.topics),
        **_over_time(measures),
        **_aggregated("aggregatedPublishLatency", measures.publish_latency),
        **_aggregated("aggregatedEndToEndLatency", measures.end_to_end),
    }
    document["mqlab"] = {
        "windowSeconds": _WINDOW_SECONDS,
        "throughput": measures.throughput,
        "requests": len(measures.end_to_end),
        "unanswered": measures.end_to_end.unanswered,
        **_aggregated("aggregatedEndToEndLatencyFromActualSend", measures.end_to_end_from_send),
        **more,
    }
    return document


def _aggregated(prefix: str, latency: Latency) -> dict[str, Any]:
    names = ("50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max")
    values = {f"{prefix}{n}": _ms(latency.quantile(q)) for n, q in zip(names, QUANTILES, strict=True)}
    quantiles = {f"{100 * q:g}": _ms(latency.quantile(q)) for q in QUANTILES}
    return {f"{prefix}Avg": _ms(latency.mean), **values, f"{prefix}Quantiles": quantiles}


def _ms(seconds: float) -> float | None:
    """None for what JSON has no number for: no samples, or no answer."""
    return seconds * 1e3 if math.isfinite(seconds) else None


def _windows(times: Nanoseconds, begin: int) -> Any:
    """How many fall into each window from `begin` on."""
    if len(times) == 0:
        return np.zeros(0, np.int64)
    return np.bincount(np.maximum(times - begin, 0) // (_WINDOW_SECONDS * 1_000_000_000))


def _over_time(measures: Measures) -> dict[str, Any]:
    """Rates in each window since the first intended send; the backlog (stored, not yet at the end) after each."""
    intended = measures.requests["aux"]
    begin = int(intended.min()) if len(intended) else 0
    made, stored, arrived = (
        _windows(rows["time"], begin) for rows in (measures.requests, measures.published, measures.arrived)
    )
    length = max(len(stored), len(arrived))
    grown = np.pad(stored, (0, length - len(stored))) - np.pad(arrived, (0, length - len(arrived)))
    return {
        "publishRate": [float(n) / _WINDOW_SECONDS for n in made],
        "consumeRate": [float(n) / _WINDOW_SECONDS for n in arrived],
        "backlog": [int(n) for n in np.cumsum(grown)],
    }


def write_latency(path: Path, latency: Latency) -> None:
    """A HdrHistogram log of one interval; values in nanoseconds, 3 digits. Unanswered ones are in a comment."""
    histogram = HdrHistogram(1, _HIGHEST, 3)
    # Rounded to the histogram's own resolution first: one call a distinct value, not one a sample.
    samples = np.clip(latency.samples, 1, _HIGHEST)
    shift = np.maximum(np.floor(np.log2(samples)).astype(np.int64) - 11, 0)
    values, counts = np.unique((samples >> shift) << shift, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        histogram.record_value(value, count)
    histogram.set_start_time_stamp(0)
    histogram.set_end_time_stamp(int(samples.max(initial=0)) // 1_000_000 + 1)
    with path.open("w", encoding="utf-8") as file:
        log = HistogramLogWriter(file)
        log.output_log_format_version()
        log.output_comment(f"values in nanoseconds; {latency.unanswered} requests without an answer are not in it")
        log.output_comment("[StartTime: 0.000 (seconds since epoch), the run's own clock]")
        log.output_legend()
        log.output_interval_histogram(histogram, max_value_unit_ratio=1e6)
