"""Kafka's jars: fetched once by Maven into the cache, found there afterwards without a network.

Uses the standard library only, since set-up runs this file by its path before the package is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

_POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqlab</groupId>
  <artifactId>kafka-jars</artifactId>
  <version>1</version>
  <dependencies>{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
    </dependency>"""
_WHOLE = "complete"  # written last: a folder without it is not taken for a whole one


def cache_dir() -> Path:
    """`$MQLAB_CACHE`, else the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mqlab"
    return Path(os.environ.get("MQLAB_CACHE") or default)


def _settings() -> dict[str, Any]:
    settings: dict[str, Any] = tomllib.loads(Path(__file__).with_name("versions.toml").read_text())["kafka"]
    return settings


def releases() -> dict[str, str]:
    """The versions a scenario may name → the releases they mean."""
    pinned: dict[str, str] = _settings()["releases"]
    return pinned


def full_version(version: str) -> str:
    """ "4.1" → the release pinned for it; raises ValueError, naming what there is, for any other."""
    known = releases()
    if version in known:
        return known[version]
    if version in known.values():
        return version
    raise ValueError(f"no Kafka {version} here; there is {', '.join(known)}")


def jars(version: str) -> list[Path]:
    """The class path of a release, sorted; empty when it was not fetched."""
    folder = cache_dir() / "kafka" / full_version(version)
    return sorted(folder.glob("*.jar")) if (folder / _WHOLE).exists() else []


def fetch(version: str) -> Path:
    """Fetches a release unless it is there; returns its folder.

    Raises RuntimeError when there is no Maven or it fails. Several processes may call this at once: each fetches
    into a folder of its own and the first to finish puts it in place.
    """
    full = full_version(version)
    folder = cache_dir() / "kafka" / full
    if (folder / _WHOLE).exists():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError("Maven (mvn) is not installed: Kafka's jars cannot be fetched")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{full}-") as scratch:
        fetched = Path(scratch) / "jars"
        _run_maven(maven, full, Path(scratch) / "pom.xml", fetched)
        (fetched / _WHOLE).touch()
        if folder.exists() and not (folder / _WHOLE).exists():
            shutil.rmtree(folder)
        try:
            fetched.rename(folder)
        except OSError:
            if not (folder / _WHOLE).exists():
                raise
    return folder


def _run_maven(maven: str, version: str, pom: Path, target: Path) -> None:
    group, artifact, logging_version = _settings()["logging"].split(":")
    wanted = [("org.apache.kafka", "kafka_2.13", version), (group, artifact, logging_version)]
    pom.write_text(
        _POM.format(dependencies="".join(_DEPENDENCY.format(group=g, artifact=a, version=v) for g, a, v in wanted))
    )
    command = [maven, "-B", "-q", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    done = subprocess.run(
        [*command, f"-DoutputDirectory={target}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = done.stdout.strip().splitlines()[-1:] or ["no output"]
        raise RuntimeError(f"Maven could not fetch Kafka {version}: {last[0]}")


def main(arguments: list[str]) -> int:
    """Fetches the releases named (all by default); with --have only tells whether they are there."""
    only_ask = "--have" in arguments
    versions = [a for a in arguments if a != "--have"] or list(releases())
    if only_ask:
        return 0 if all(jars(version) for version in versions) else 1
    for version in versions:
        print(f"Kafka {version}: {fetch(version)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
