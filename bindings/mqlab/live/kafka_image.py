"""What makes a Kafka node start in seconds: a formatted data folder to copy and an archive of loaded classes.

Both are made once for each version and Java, in the cache. Without them a node formats itself with a second JVM and
loads some ten thousand classes from jars: 8.6 s instead of 3.1 s on two cores.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mqlab import kafka_jars
from mqlab.errors import BrokerError
from mqlab.live.processes import Child, wait_until

_FORMAT_SECONDS = 60.0


def default_version() -> str:
    settings = tomllib.loads(Path(kafka_jars.__file__).with_name("versions.toml").read_text())
    return str(settings["kafka"]["default"])


def java_program() -> str:
    """Raises BrokerError when there is none."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return str(Path(home) / "bin" / "java")
    found = shutil.which("java")
    if found is None:
        raise BrokerError("no Java: Kafka needs java 17 or newer on the path or JAVA_HOME set")
    return found


@dataclass(frozen=True)
class Image:
    version: str
    java: str
    jars: tuple[Path, ...]
    formatted: Path
    archive: Path

    def _flags(self, heap_mb: int) -> list[str]:
        return [
            self.java, "-server", f"-Xmx{heap_mb}m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Djava.awt.headless=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
        ]  # fmt: skip

    def class_path(self) -> list[str]:
        return ["-cp", ":".join(map(str, self.jars))]

    def command(self, properties: Path, heap_mb: int) -> list[str]:
        """A node's command line."""
        shared = [f"-XX:SharedArchiveFile={self.archive}", "-Xshare:auto"] if self.archive.exists() else []
        return [*self._flags(heap_mb), *shared, *self.class_path(), "kafka.Kafka", str(properties)]

    def archiving_command(self, properties: Path, archive: Path) -> list[str]:
        """As command(), and the classes it loaded go to `archive` when it ends."""
        return [
            *self._flags(512),
            f"-XX:ArchiveClassesAtExit={archive}",
            *self.class_path(),
            "kafka.Kafka",
            str(properties),
        ]

    def format(self, folder: Path, cluster_id: str, node_id: int, directory_id: str) -> None:
        """A data folder as the storage tool would make it."""
        shutil.copytree(self.formatted, folder)
        (folder / "meta.properties").write_text(
            f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={directory_id}\n"
        )


def image_of(version: str) -> Image:
    """Where things are or will be. Raises BrokerError without Java or jars."""
    java = java_program()
    jars = tuple(kafka_jars.jars(version))
    if not jars:
        try:
            kafka_jars.fetch(version)
        except RuntimeError as error:
            raise BrokerError(f"Kafka {version}: its jars are missing and could not be fetched: {error}") from None
        jars = tuple(kafka_jars.jars(version))
    stamp = Path(java).resolve()
    words = "|".join([str(stamp), str(stamp.stat().st_mtime_ns), *(f"{jar}:{jar.stat().st_size}" for jar in jars)])
    made = kafka_jars.cache_dir() / "kafka-image" / f"{version}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"
    return Image(version, java, jars, made / "formatted", made / "classes.jsa")


def prepared(version: str) -> Image:
    """An image with its folder and archive made. The archive is a matter of speed only: without it things go on."""
    image = image_of(version)
    if image.formatted.exists() and image.archive.exists():
        return image
    with _alone(image.formatted.parent):
        if not image.formatted.exists():
            _make_formatted(image)
        if not image.archive.exists():
            _make_archive(image)
    return image


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time makes an image."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make_formatted(image: Image) -> None:
    with tempfile.TemporaryDirectory(dir=image.formatted.parent) as scratch:
        data, properties = Path(scratch) / "data", Path(scratch) / "server.properties"
        properties.write_text(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:1\n"
            "listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1\ncontroller.listener.names=CONTROLLER\n"
            f"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\nlog.dirs={data}\n"
        )
        tool = [image.java, "-XX:TieredStopAtLevel=1", *image.class_path(), "kafka.tools.StorageTool", "format"]
        done = subprocess.run(
            [*tool, "-t", "AAAAAAAAQACAAAAAAAAAAA", "-c", str(properties)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=_FORMAT_SECONDS,
        )  # fmt: skip
        if done.returncode != 0 or not (data / "meta.properties").exists():
            last = done.stdout.strip().splitlines()[-1:] or ["no output"]
            raise BrokerError(f"Kafka {image.version}: formatting failed: {last[0]}")
        data.rename(image.formatted)


def _make_archive(image: Image) -> None:
    """Runs one node through what nodes do, and lets the JVM write down what it loaded."""
    from mqlab.live.cluster import ClusterSpec
    from mqlab.live.kafka import KafkaCluster
    from mqlab.live.kafka_exercise import exercise

    with tempfile.TemporaryDirectory(dir=image.archive.parent) as scratch:
        unfinished = Path(scratch) / "classes.jsa"

        class Recording(KafkaCluster):
            def _launch(self, node: object) -> None:
                first = self.nodes[0]
                first.command = image.archiving_command(first.folder / "server.properties", unfinished)
                super()._launch(first)

        cluster = Recording(ClusterSpec("kafka", image.version, 1), Path(scratch) / "cluster")
        cluster._image = image  # the very one that is being made
        with cluster:
            cluster.start()
            exercise(cluster, Path(scratch))
            child = cluster.nodes[0].child
            if isinstance(child, Child):
                cluster.nodes[0].downed = True
                child.signal(signal.SIGTERM)
                wait_until(lambda: not child.alive, 60.0)
        if unfinished.exists():
            unfinished.rename(image.archive)
