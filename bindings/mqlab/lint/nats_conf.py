"""Reads what NATS reads: its configuration language, of which JSON is a part; each value with its line.

Source of the grammar: nats-server conf/lex.go. Keys end with `=`, `:` or a blank before `{`; comments are `#` and `//`;
values are strings (quoted or bare), numbers, true/false, maps and lists. Variables stay as they are written.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from mqlab.errors import ScenarioError

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r,;]+)|(?P<newline>\n)|(?P<comment>\#[^\n]*|//[^\n]*)|(?P<punct>[{}\[\]:=])
    |"(?P<double>(?:[^"\\\n]|\\.)*)"|'(?P<single>[^'\n]*)'|(?P<bare>[^\s{}\[\],;:="'\#][^\s{}\[\],;="'\#]*)""",
    re.VERBOSE,
)
_DEEPEST = 32
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Token(NamedTuple):
    kind: str  # punct | text (quoted) | bare
    text: str
    line: int


class Value(NamedTuple):
    """`data`: str, bool as "true"/"false", list of Value, or dict of name → Value."""

    data: Any
    line: int


def parse(text: str, file: str) -> dict[str, Value]:
    """Raises ScenarioError with file and line for what is no NATS configuration."""
    return _Parser(_tokens(text, file), file).document()


def _tokens(text: str, file: str) -> list[Token]:
    tokens: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ScenarioError(file, line, "", f"{text[at]!r} begins nothing that NATS reads; is a string not closed?")
        kind = found.lastgroup or ""
        if kind == "newline":
            line += 1
        elif kind == "punct":
            tokens.append(Token("punct", found[0], line))
        elif kind == "double":
            plain = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), found["double"])
            tokens.append(Token("text", plain, line))
        elif kind == "single":
            tokens.append(Token("text", found["single"], line))
        elif kind == "bare":
            tokens += _bare(found["bare"], line)
        at = found.end()
    return tokens


def _bare(word: str, line: int) -> list[Token]:
    """`key:` and `key:value` without blanks; an address such as 127.0.0.1:4222 stays whole."""
    name, colon, rest = word.partition(":")
    if colon and re.fullmatch(r"[A-Za-z_]\w*", name) and not rest.startswith("//"):
        return [Token("bare", name, line), Token("punct", ":", line)] + ([Token("bare", rest, line)] if rest else [])
    return [Token("bare", word, line)]


class _Parser:
    def __init__(self, tokens: list[Token], file: str) -> None:
        self.tokens, self.file, self.at = tokens, file, 0

    def document(self) -> dict[str, Value]:
        braces = bool(self.tokens) and self.tokens[0].text == "{" and self.tokens[0].kind == "punct"
        if braces:
            self.at = 1
        found = self._map(0, "}" if braces else "")
        if self.at < len(self.tokens):
            self._fail("there is more after the end")
        return found

    def _fail(self, problem: str) -> None:
        line = self.tokens[min(self.at, len(self.tokens) - 1)].line if self.tokens else 0
        raise ScenarioError(self.file, line, "", f"{problem}; a NATS configuration or JSON has NAME: VALUE")

    def _next(self) -> Token:
        if self.at >= len(self.tokens):
            self._fail("it ends in the middle")
        self.at += 1
        return self.tokens[self.at - 1]

    def _is(self, punct: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at][:2] == ("punct", punct)

    def _map(self, depth: int, end: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while self.at < len(self.tokens):
            if end and self._is(end):
                self.at += 1
                return found
            name = self._next()
            if name.kind == "punct":
                self.at -= 1
                self._fail(f"{name.text!r} stands where a name belongs")
            if self._is(":") or self._is("="):
                self.at += 1
            elif name.text == "include" and name.kind == "bare":
                self._next()
                continue
            elif not self._is("{"):
                self._fail(f"{name.text!r} has no value")
            found[name.text] = self._value(depth + 1)
        if end:
            self._fail("a brace is not closed")
        return found

    def _value(self, depth: int) -> Value:
        token = self._next()
        if depth > _DEEPEST:
            self._fail(f"it is nested more than {_DEEPEST} deep")
        if token.kind != "punct":
            return Value(token.text, token.line)
        if token.text == "{":
            return Value(self._map(depth, "}"), token.line)
        if token.text == "[":
            items = []
            while not self._is("]"):
                items.append(self._value(depth + 1))
            self.at += 1
            return Value(items, token.line)
        self.at -= 1
        self._fail(f"{token.text!r} stands where a value belongs")
        raise AssertionError
