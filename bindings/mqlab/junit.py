"""Verdicts as JUnit XML, which every CI server shows: one test case a claim."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from mqlab import result
from mqlab.verdicts import UNDECIDED, ClaimVerdict, Verdicts

# What XML 1.0 cannot hold, not even escaped (https://www.w3.org/TR/xml/#charsets).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(verdicts: Verdicts, path: Path) -> None:
    """One suite, named after the scenario. A claim that is not as expected fails; one that is undecided is an error."""
    suite = ElementTree.Element("testsuite", _counts(verdicts))
    about = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(verdicts).items():
        ElementTree.SubElement(about, "property", {"name": name, "value": _plain(value)})
    for verdict in verdicts:
        _case(suite, verdicts.scenario, verdict)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    with result.disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def _counts(verdicts: Verdicts) -> dict[str, str]:
    undecided = sum(v.verdict == UNDECIDED for v in verdicts)
    failed = sum(v.verdict != UNDECIDED and not v.as_expected for v in verdicts)
    counts = {"tests": len(verdicts), "failures": failed, "errors": undecided, "skipped": 0}
    seconds = verdicts.searched.get("seconds", 0.0)
    return {"name": _plain(verdicts.scenario), "time": f"{seconds:.3f}", **{k: str(v) for k, v in counts.items()}}


def _properties(verdicts: Verdicts) -> dict[str, str]:
    brokers = ", ".join(f"{kind} {version}" for kind, version in verdicts.brokers)
    return {
        "world": verdicts.world,
        "client": verdicts.client,
        "brokers": brokers,
        "seed": str(verdicts.seed),
        "schedules": str(verdicts.schedules),
    }


def _case(suite: ElementTree.Element, scenario: str, verdict: ClaimVerdict) -> None:
    names = {"classname": _plain(scenario), "name": _plain(verdict.scope)}
    case = ElementTree.SubElement(suite, "testcase", names)
    if verdict.verdict == UNDECIDED:
        _outcome(case, "error", UNDECIDED, verdict.explanation, "")
    elif not verdict.as_expected:
        kind = verdict.verdict if verdict.expected != "violated" else "holds, but was expected to be violated"
        _outcome(case, "failure", kind, verdict.explanation, _story(verdict))
    else:
        ElementTree.SubElement(case, "system-out").text = _plain(verdict.explanation)


def _outcome(case: ElementTree.Element, tag: str, kind: str, message: str, text: str) -> None:
    inside = ElementTree.SubElement(case, tag, {"type": kind, "message": _plain(message)})
    inside.text = _plain(text)


def _story(verdict: ClaimVerdict) -> str:
    lines = [f"{number:>2} {step}" for number, step in enumerate(verdict.story, 1)]
    if verdict.counterexample is not None:
        lines.append(f"replay: {verdict.counterexample.command}")
    return "\n".join(lines)


def _plain(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
