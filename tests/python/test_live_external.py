"""A cluster of the user's own: reached with its secrets, used under names of its own, and left as it was."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import mqlab
import pytest
from live_support import Rows, fault, kafka, nats
from mqlab.errors import BrokerError
from mqlab.live.brokers import make_cluster
from mqlab.live.cluster import Cluster, ClusterSpec
from mqlab.live.controller import run_live
from mqlab.live.kafka import KafkaCluster
from mqlab.live.processes import wait_until
from mqlab.live.surroundings import CannotRunLive
from support import call

SECRET = "open-sesame-4711"
SHORT_SESSIONS = {"group.min.session.timeout.ms": "500"}
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_lab="{SECRET}";'


class GuardedKafka(KafkaCluster):
    """A broker that lets in who knows the password (SASL), or whom its certificate suffices (TLS)."""

    more: str = ""

    def _configuration(self, data: Path, index: int) -> str:
        return super()._configuration(data, index) + self.more


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return key, cert


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("theirs")


@pytest.fixture(scope="module")
def sasl_kafka(folder: Path) -> Iterator[Cluster]:
    cluster = GuardedKafka(ClusterSpec("kafka", "", 1, SHORT_SESSIONS), folder / "sasl")
    cluster.more = (
        "listener.security.protocol.map=PLAINTEXT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        f"sasl.enabled.mechanisms=PLAIN\nlistener.name.plaintext.plain.sasl.jaas.config={JAAS}\n"
    )
    with cluster:
        yield cluster.start()


@pytest.fixture(scope="module")
def tls_kafka(folder: Path) -> Iterator[Cluster]:
    key, cert = certificate(folder, "kafka")
    both = folder / "both.pem"
    both.write_text(key.read_text() + cert.read_text())
    cluster = GuardedKafka(ClusterSpec("kafka", "", 1, SHORT_SESSIONS), folder / "tls")
    cluster.more = (
        "listener.security.protocol.map=PLAINTEXT:SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        f"ssl.keystore.type=PEM\nssl.keystore.location={both}\n"
    )
    with cluster:
        yield cluster.start()


@pytest.fixture(scope="module")
def guarded_nats(folder: Path) -> Iterator[Cluster]:
    key, cert = certificate(folder, "nats")
    properties = {
        "authorization": f'{{ user: "lab", password: "{SECRET}" }}',
        "tls": f'{{ cert_file: "{cert}", key_file: "{key}" }}',
    }
    with make_cluster(ClusterSpec("nats", "", 1, properties), folder / "nats") as cluster:
        yield cluster.start()


def at(scenario: str, cluster_address: str, **properties: str) -> str:
    told = ", ".join(f'"{key.replace("__", ".")}" = "{value}"' for key, value in properties.items())
    return scenario + f'[live]\naddress = "{cluster_address}"\nproperties = {{ {told} }}\n'


def sasl(cluster: Cluster) -> str:
    return at(
        kafka(), cluster.address, security__protocol="sasl_plaintext", sasl__mechanism="PLAIN", sasl__username="lab",
        sasl__password="${LAB_PASSWORD}",
    )  # fmt: skip


def holds_secret(folder: Path) -> list[str]:
    return [str(p) for p in folder.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]


def kept(cluster: Cluster) -> list[str]:
    """Topics of the lab's that are still there: what is deleted is renamed at once, and goes later."""
    data = cluster.nodes[0].folder / "data"
    return [p.name for p in data.iterdir() if p.name.startswith("mqlab-") and not p.name.endswith("-delete")]


def test_a_run_behind_a_password_leaves_nothing_behind(
    sasl_kafka: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_PASSWORD", SECRET)
    rows = Rows(run_live(sasl(sasl_kafka), 1, [fault("kill", "complete", nth=5)], tmp_path))
    assert rows.run.problems == []
    assert rows.run.reached
    assert set(rows.audited("answers")) == set(range(1, 41))
    assert wait_until(lambda: not kept(sasl_kafka), 20), kept(sasl_kafka)
    assert holds_secret(tmp_path) == []


def test_a_member_that_may_not_join_is_named(tmp_path: Path) -> None:
    """Their broker wants longer sessions than the scenario says of it; the lab cannot know before it tries."""
    with KafkaCluster(ClusterSpec("kafka", "", 1, {}), tmp_path / "theirs") as cluster:
        cluster.start()
        path = tmp_path / "strict.toml"
        path.write_text(at(kafka().replace('live_timeout = "60s"', 'live_timeout = "8s"'), cluster.address))
        run = mqlab.run(mqlab.load(path), world="live")
    assert run.refused  # in the order of the history: whichever came first; the run need not wait for the other
    for line in run.refused:
        who, why, *_ = line.split(":")
        assert who in ("embed-0 may not join its group", "embed-1 may not join its group")
        assert why == " INVALID_SESSION_TIMEOUT"
    assert run.verdicts["no_loss"].verdict != "holds"


def test_a_run_over_tls(tls_kafka: Cluster, folder: Path, tmp_path: Path) -> None:
    scenario = at(
        kafka(), tls_kafka.address, security__protocol="ssl", ssl__ca__location=str(folder / "kafka.pem")
    )  # fmt: skip
    rows = Rows(run_live(scenario, 1, [], tmp_path))
    assert rows.run.problems == []
    assert sorted(rows.audited("answers")) == list(range(1, 41))


def test_a_run_on_a_guarded_nats(
    guarded_nats: Cluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_PASSWORD", SECRET)
    scenario = at(
        nats(), guarded_nats.address, user="lab", password="${LAB_PASSWORD}", tls__ca=str(folder / "nats.pem")
    )  # fmt: skip
    rows = Rows(run_live(scenario, 1, [], tmp_path))
    assert rows.run.problems == []
    assert sorted(rows.audited("answers")) == list(range(1, 61))
    streams = guarded_nats.nodes[0].folder / "data/jetstream/$G/streams"
    assert wait_until(lambda: not streams.exists() or not list(streams.iterdir()), 20)
    assert holds_secret(tmp_path) == []


# ---- what does not come about ----


def fails(scenario: str, tmp_path: Path, reason: str) -> None:
    """As a user sees it: exit 4, one line, nothing secret in it or in a file."""
    file = tmp_path / "scenario.toml"
    file.write_text(scenario)
    done = call("run", file, "--world", "live", "--out", tmp_path / "out")
    assert done.code == 4, done.err
    line = done.err.strip().splitlines()[-1]
    assert reason in line
    assert SECRET not in done.out + done.err
    assert "wrong-pass" not in done.out + done.err
    assert not (tmp_path / "out").exists()
    assert holds_secret(tmp_path) == []


def test_a_wrong_password(sasl_kafka: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_PASSWORD", "wrong-pass")
    fails(sasl(sasl_kafka), tmp_path, "uthentication")
    assert kept(sasl_kafka) == []


def test_a_certificate_nobody_trusts(tls_kafka: Cluster, folder: Path, tmp_path: Path) -> None:
    _, other = certificate(folder, "other")
    scenario = at(kafka(), tls_kafka.address, security__protocol="ssl", ssl__ca__location=str(other))
    fails(scenario, tmp_path, "certificate")


@pytest.mark.parametrize(("password", "ca", "reason"), [
    ("wrong-pass", "nats", "uthoriz"),
    (SECRET, "other-nats", "SSL"),
])  # fmt: skip
def test_a_nats_that_does_not_let_in(
    guarded_nats: Cluster, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str, ca: str,
    reason: str,
) -> None:  # fmt: skip
    certificate(folder, "other-nats")
    monkeypatch.setenv("LAB_PASSWORD", password)
    scenario = at(
        nats(), guarded_nats.address, user="lab", password="${LAB_PASSWORD}", tls__ca=str(folder / f"{ca}.pem")
    )  # fmt: skip
    fails(scenario, tmp_path, reason)


@pytest.mark.parametrize("scenario", [kafka(), nats()], ids=["kafka", "nats"])
def test_nobody_there(scenario: str, tmp_path: Path) -> None:
    fails(at(scenario, "127.0.0.1:9"), tmp_path, "")


def test_a_variable_that_is_not_set_is_named(sasl_kafka: Cluster, tmp_path: Path) -> None:
    scenario = sasl(sasl_kafka).replace("LAB_PASSWORD", "NOBODY_SETS_THIS")
    with pytest.raises(BrokerError, match=r"live.properties.sasl.password: the environment has no NOBODY_SETS_THIS"):
        run_live(scenario, 1, [], tmp_path)


@pytest.mark.parametrize(
    ("live", "problem"),
    [
        (
            'address = "h:1"\nproperties = { "sasl.password" = "open" }',
            r"x.toml:\d+: live.properties.sasl.password: a ",
        ),
        ('address = "nats://lab:open@h:1"', "live.address: a password does not belong"),
        ('adress = "h:1"', "adress"),
        ('properties = { "security.protocol" = "ssl" }', "live.address"),
    ],
)
def test_secrets_do_not_belong_in_a_scenario(live: str, problem: str) -> None:
    with pytest.raises(mqlab.ScenarioError, match=problem) as raised:
        mqlab.Scenario(kafka() + "[live]\n" + live + "\n", "x.toml")
    assert "open" not in raised.value.problem


@pytest.mark.parametrize("action", ["kill", "power_loss", "disk_full", "fsync_error", "partition"])
def test_it_is_never_harmed(tmp_path: Path, action: str) -> None:
    with pytest.raises(CannotRunLive, match=f"{action}: on a cluster of your own"):
        run_live(at(kafka(), "127.0.0.1:9"), 1, [fault(action, "complete", target="kafka")], tmp_path)
