"""`mqlab lint`: settings that weaken a guarantee or contradict each other. Plain text: it is there at once."""

from __future__ import annotations

import argparse
import sys
import textwrap
from itertools import groupby
from typing import NoReturn

from mqlab.cli import output
from mqlab.cli.usage import UsageError
from mqlab.lint import KINDS, Finding, Rule, lint, rules

_CLEAN, _FOUND = 0, 1
_WIDTH = 100


def command() -> int:
    """Look for settings that silently weaken a guarantee or contradict each other."""
    return main(sys.argv[2:])


def main(arguments: list[str]) -> int:
    """Parsed by argparse: typer's parser takes longer to load than all of the work here takes."""
    chosen = _parser().parse_args(arguments)
    if chosen.show:
        return _show(chosen.show, chosen.mended)
    if chosen.rules:
        return _list(chosen.json)
    if not chosen.files:
        raise UsageError("mqlab lint: give at least one file; --rules lists the rules")
    if chosen.kind not in ("", *KINDS):
        raise UsageError(f"mqlab lint: --kind is one of {', '.join(KINDS)}")
    findings = lint(*chosen.files, kind=chosen.kind, version=chosen.version)
    if chosen.json:
        document = {"schema": "mqlab.lint/1", "files": chosen.files, "rules": len(rules())}
        output.print_json(document | {"findings": [finding.document() for finding in findings]})
    else:
        _print(findings, len(chosen.files))
    return _FOUND if findings else _CLEAN


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"mqlab lint: {message}")


def _parser() -> _Parser:
    parser = _Parser(prog="mqlab lint", description=command.__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="scenarios, Kafka .properties, NATS .conf or .json")
    parser.add_argument("--kind", default="", help="whose .properties these are: " + ", ".join(KINDS))
    parser.add_argument("--version", default="", help="of broker and client; default: Kafka 4.1, NATS 2.12")
    parser.add_argument("--rules", action="store_true", help="list all rules")
    parser.add_argument("--show", default="", metavar="RULE", help="print what shows a rule: a scenario, or a file")
    parser.add_argument("--mended", action="store_true", help="with --show: the same, mended")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
    return parser


def _print(findings: list[Finding], files: int) -> None:
    for _, group in groupby(findings, key=lambda f: (f.file, f.line, f.path, f.rule)):
        finding = next(group)
        print(f"{finding.file}:{finding.line}: {finding.path}: {finding.severity} [{finding.rule}]")
        if finding.claims:
            _fact("threatens", "; ".join(finding.claims))
        _fact("why", finding.reason)
        _fact("mend", finding.mend)
        _fact("source", finding.source)
    count = f"{len(findings)} finding" + ("" if len(findings) == 1 else "s")
    print(f"{count} in {files} file" + ("" if files == 1 else "s") + f", {len(rules())} rules")


def _fact(name: str, text: str) -> None:
    print(textwrap.fill(text, _WIDTH, initial_indent=f"  {name:<10}", subsequent_indent=" " * 12,
                        break_long_words=False, break_on_hyphens=False))  # fmt: skip


def _show(rule: str, mended: bool) -> int:
    from mqlab.lint.shown import shown

    example = shown().get(rule)
    if example is None:
        raise UsageError(f"mqlab lint: there is no rule {rule!r}; --rules lists them")
    sys.stdout.write(example.text(mended))
    return _CLEAN


def _list(json: bool) -> int:
    if json:
        rows = [_row(rule) for rule in rules()]
        output.print_json({"schema": "mqlab.rules/1", "rules": rows})
        return _CLEAN
    for rule in rules():
        print(f"{rule.id}  {rule.severity} {', '.join(rule.threatens)}".rstrip())
        _fact("why", rule.reason)
        _fact("mend", rule.mend)
        _fact("source", rule.source)
    return _CLEAN


def _row(rule: Rule) -> dict[str, object]:
    return {
        "rule": rule.id, "on": list(rule.on), "at": rule.at, "severity": rule.severity,
        "threatens": list(rule.threatens), "reason": rule.reason, "mend": rule.mend, "source": rule.source,
    }  # fmt: skip
