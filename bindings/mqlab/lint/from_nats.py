"""The subject of a NATS file: a server's configuration, or a stream or consumer as the API's JSON has it."""

from __future__ import annotations

from mqlab.errors import ScenarioError
from mqlab.lint.nats_conf import Value, parse
from mqlab.lint.subject import Given, Subject, table_of

VERSION = "2.12"
_NANOSECONDS = ("max_age", "duplicate_window", "ack_wait", "inactive_threshold", "idle_heartbeat", "max_expires")
_STREAM = ("retention", "storage", "discard", "duplicate_window", "num_replicas", "max_msgs", "subjects")
_CONSUMER = ("ack_policy", "deliver_policy", "durable_name", "ack_wait", "max_ack_pending", "max_deliver")
_OF_THE_API = frozenset((
    "name", "subjects", "created", "state", "cluster", "type", "domain", "ts", "mirror", "sources", "sealed",
    "placement", "republish", "subject_transform", "template_owner", "stream_name", "deliver_subject", "deliver_group",
    "flow_control", "direct", "action", "allow_msg_ttl", "config", "num_replicas", "replicas", "durable",
))  # fmt: skip


def read_nats(text: str, file: str, version: str = "") -> Subject:
    """Told apart by what is in it: acknowledgements: a consumer; retention or storage: a stream; else a server."""
    document = parse(text, file)
    inner = document.get("config")
    about = inner.data if inner is not None and isinstance(inner.data, dict) else document
    line = inner.line if inner is not None else 1
    if any(key in about for key in _CONSUMER):
        return _api("nats consumer", about, file, line, version or VERSION)
    if any(key in about for key in _STREAM):
        return _api("nats stream", about, file, line, version or VERSION)
    return _server(document, file, version or VERSION)


def _text(value: Value, key: str) -> str:
    """As the tables of settings have it: the API's times are nanoseconds, its lists have commas."""
    if isinstance(value.data, list):
        return ",".join(_text(item, "ack_wait" if key == "backoff" else "") for item in value.data)
    text = str(value.data)
    return f"{int(text)}ns" if key in _NANOSECONDS and text.isdecimal() else text


def _api(kind: str, about: dict[str, Value], file: str, line: int, version: str) -> Subject:
    known = table_of(kind, version)
    values, unknown = {}, {}
    for key, value in about.items():
        if isinstance(value.data, dict):
            continue
        name = "durable" if key == "durable_name" else key
        given = Given(_text(value, key), value.line)
        if name in known.canonical or name in known.known:
            values[known.canonical.get(name, name)] = given
        elif name not in _OF_THE_API:
            unknown[key] = given
    subject = Subject(kind, file, "", line, "nats.c", version, values, kind)
    subject.unknown = unknown
    replicas = about.get("num_replicas")
    if kind == "nats stream":
        subject.facts = {"replication": int(replicas.data) if replicas and str(replicas.data).isdecimal() else 1}
    return subject


def _server(document: dict[str, Value], file: str, version: str) -> Subject:
    known = table_of("nats server", version)
    values: dict[str, Given] = {}
    jetstream = document.get("jetstream")
    if jetstream is not None:
        inside: dict[str, Value] = jetstream.data if isinstance(jetstream.data, dict) else {}
        values["jetstream"] = Given("true", jetstream.line)
        for key, value in inside.items():
            name = {"max_mem": "max_memory_store", "max_file": "max_file_store", "sync": "sync_interval"}.get(key, key)
            values[name] = Given(_text(value, name), value.line)
    for key, value in document.items():
        if key in known.canonical and not isinstance(value.data, (dict, list)):
            values[key] = Given(_text(value, key), value.line)
    if not values and not any(key in known.known for key in document):
        raise ScenarioError(file, 0, "", "is neither a NATS server's configuration nor a stream's or consumer's")
    subject = Subject("nats server", file, "", 1, "nats.c", version, values, "nats server")
    cluster = document.get("cluster")
    routes = cluster.data.get("routes") if cluster is not None and isinstance(cluster.data, dict) else None
    subject.facts = {"nodes": _servers(routes)}
    return subject


def _servers(routes: Value | None) -> int:
    """How many servers the routes speak of; 1 where that is not said."""
    if routes is None or not isinstance(routes.data, list):
        return 1
    return max(1, len({str(item.data) for item in routes.data}))
