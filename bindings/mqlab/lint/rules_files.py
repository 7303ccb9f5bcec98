"""Files as such: keys that nobody knows, values that are refused, keys written twice."""

from __future__ import annotations

from mqlab import _core
from mqlab.lint.rule import CONTRADICTS, Rule
from mqlab.lint.subject import Subject, table_of

ON = (
    "kafka producer", "kafka consumer", "kafka broker", "nats server", "nats stream", "nats consumer",
)  # fmt: skip
_OTHERS = (
    "java producer",
    "java consumer",
    "librdkafka producer",
    "librdkafka consumer",
    "kafka broker",
    "kafka topic",
)
DOCS = "https://kafka.apache.org/documentation/#configuration"


def of_another(s: Subject, key: str) -> str:
    """Whose setting a key is that this map's owner does not have."""
    if not s.kind.startswith("kafka"):
        return ""
    for name in _OTHERS:
        table = table_of(name, s.version)
        if key in table.canonical or key in table.known:
            return name
    return ""


def refused(s: Subject) -> str:
    """The first setting whose value its owner would refuse, with the reason; empty where there is none."""
    for key, (value, _) in s.values.items():
        reason = _core.refusal(s.table, s.version, key, value)
        if reason and "set by the lab" not in reason and "no such setting" not in reason:
            return key
    return ""


RULES = (
    Rule("file.unknown-key", ON, "*unknown", lambda s: any(not of_another(s, key) for key in s.unknown),
         CONTRADICTS, (),
         "no such setting: the Java client and the broker log a line and go on without it, librdkafka refuses it",
         "the setting's right name", DOCS),
    Rule("file.key-of-another", ON, "*another", lambda s: any(of_another(s, key) for key in s.unknown), CONTRADICTS, (),
         "a setting of another client or of the broker: here it has no effect",
         "the file of its owner", DOCS),
    Rule("file.written-twice", ON, "*repeated", lambda s: bool(s.repeated), CONTRADICTS, (),
         "the same setting is written twice: the later one counts, silently", "write it once",
         "https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/util/Properties.html"),
    Rule("file.value-refused", ON, "*refused", lambda s: s.pipeline is None and refused(s) != "", CONTRADICTS, (),
         "the value is not one that this setting takes: the process will not start", "a value of its type and range",
         DOCS),
)  # fmt: skip
