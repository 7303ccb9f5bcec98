"""The Java client, asked by hand: a small program beside the broker's own jars, a line in, a line out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from mqlab.conformance.suite import folder
from mqlab.errors import BrokerError
from mqlab.live import kafka_image


class JavaProbe:
    """Names of topics, groups and transactions get the entry's own prefix ("{}" in a request)."""

    def __init__(self, version: str, address: str, scratch: Path) -> None:
        image = kafka_image.image_of(version)
        source = folder() / "probe" / "Probe.java"
        log = (scratch / "java.log").open("wb")
        command = [image.java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *image.class_path(), str(source), address]
        self._log = scratch / "java.log"
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1
        )
        log.close()
        self.prefix = ""

    def begin(self, prefix: str) -> None:
        self.prefix = prefix
        self.ask("reset")

    def ask(self, request: str) -> Any:
        """Raises BrokerError when the program is gone."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(request.replace("{}", self.prefix) + "\n")
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            last = self._log.read_text(errors="replace").strip().splitlines()[-1:] or ["no output"]
            raise BrokerError(f"the Java client's probe ended: {last[0]}")
        return json.loads(line)

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
