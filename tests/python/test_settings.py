"""Settings: what there is, what the model honours, what it says about the rest."""

from __future__ import annotations

import json
from pathlib import Path

from support import call


def settings(*options: object) -> dict[tuple[str, str], dict[str, object]]:
    document = call("brokers", "kafka", "--json", *options).json
    assert document["schema"] == "mqlab.settings/1"
    return {(setting["scope"], setting["key"]): setting for setting in document["settings"]}


def test_defaults_go_by_version_and_flavour() -> None:
    java = settings("--flavour", "java", "--version", "3.9")
    assert java["producer", "linger.ms"]["default"] == "0"
    assert settings("--flavour", "java", "--version", "4.1")["producer", "linger.ms"]["default"] == "5"
    rdkafka = settings("--flavour", "librdkafka")
    assert java["producer", "max.request.size"]["default"] == "1048576"
    assert rdkafka["producer", "message.max.bytes"]["default"] == "1000000"
    assert java["broker", "message.max.bytes"]["default"] == "1048588"
    assert rdkafka["producer", "message.timeout.ms"]["alias_of"] == "delivery.timeout.ms"


def test_every_setting_has_a_source_and_says_whether_it_counts() -> None:
    found = settings()
    assert len(found) > 250
    assert all(setting["source"] for setting in found.values())
    assert all(setting["effect"] or setting["alias_of"] for setting in found.values() if setting["modelled"])
    assert found["broker", "min.insync.replicas"]["modelled"]
    assert not found["broker", "num.io.threads"]["modelled"]


def test_an_unknown_broker_is_an_error() -> None:
    called = call("brokers", "kafak")
    assert called.code == 2
    assert "kafka" in called.err


def test_what_is_known_but_not_modelled_is_a_warning_of_the_run(scenario_file: Path, tmp_path: Path) -> None:
    change = "workload.producer.compression.type=lz4"
    assert call("run", scenario_file, "--set", change, "--out", tmp_path / "run").err == ""
    warnings = json.loads((tmp_path / "run" / "environment.json").read_text(encoding="utf-8"))["warnings"]
    assert len(warnings) == 1
    assert warnings[0].startswith("workload.producer.compression.type: ")


def test_an_unknown_setting_is_an_error_with_the_nearest_one(scenario_file: Path, tmp_path: Path) -> None:
    called = call("run", scenario_file, "--set", "workload.producer.lingr.ms=1", cwd=tmp_path)
    assert called.code == 2
    assert "linger.ms" in called.err
