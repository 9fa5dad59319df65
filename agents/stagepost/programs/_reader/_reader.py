"""Reads the forms of a program."""

import math
import re
from collections.abc import Callable
from typing import Any, Final

from .._fault import Fault
from .._keyword import Keyword
from .._limits import Limits
from ._forms import Braces, Brackets, Call, Form, Regex, SetOf, Short, Symbol, VarOf
from ._tokens import Token, tokens

_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "#(": ")", "#{": "}"}
_MADE: Final[dict[str, Callable[[tuple[Any, ...], int], Form]]] = {
    "(": Call,
    "[": Brackets,
    "{": Braces,
    "#(": Short,
    "#{": SetOf,
}
_WORDS: Final[dict[str, Any]] = {"nil": None, "true": True, "false": False}
_FLOATS: Final = {"##Inf": math.inf, "##-Inf": -math.inf, "##NaN": math.nan}
_CHARACTERS: Final = {
    "newline": "\n",
    "space": " ",
    "tab": "\t",
    "return": "\r",
    "backspace": "\b",
    "formfeed": "\f",
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_FLOAT: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_KINDS: Final = {")": "parentheses", "]": "brackets", "}": "braces"}


def read(source: str, limits: Limits, tick: Callable[[], None]) -> list[Form]:
    """The top-level forms.

    Raises:
        Fault: A ``parse_error`` with the place of what cannot be read.
    """
    if len(source) > limits.source:
        raise Fault("parse_error", f"the program has more than {limits.source} characters; Limits(source=…) raises it")
    return _Reader(limits, tick).all(source)


class _Reader:
    def __init__(self, limits: Limits, tick: Callable[[], None]) -> None:
        self._limits = limits
        self._tick = tick
        self._names: dict[str, Any] = {}
        self._open: list[tuple[Token, list[Form]]] = []

    def all(self, source: str) -> list[Form]:
        top: list[Form] = []
        for token in tokens(source):
            self._tick()
            if token.kind == "opening":
                self._begin(token)
                continue
            form = self._end(token) if token.kind == "closing" else self._atom(token)
            (self._open[-1][1] if self._open else top).append(form)
        if self._open:
            first = self._open[-1][0]
            raise Fault(
                "parse_error",
                f"unbalanced {_KINDS[_CLOSING[first.text]]}: {len(self._open)} unclosed, the last is '{first.text}'",
                None,
                first.place,
            )
        return top

    def _begin(self, token: Token) -> None:
        if len(self._open) >= self._limits.nesting:
            raise Fault(
                "parse_error",
                f"forms nest deeper than {self._limits.nesting}; Limits(nesting=…) raises it",
                None,
                token.place,
            )
        if token.text == "#(" and any(opened.text == "#(" for opened, _ in self._open):
            raise Fault(
                "analysis_error", "#() cannot stand inside #()", "write the inner one as (fn [x] …)", token.place
            )
        self._open.append((token, []))

    def _end(self, token: Token) -> Form:
        if not self._open:
            raise Fault("parse_error", f"unbalanced {_KINDS[token.text]}: an extra '{token.text}'", None, token.place)
        opened, items = self._open.pop()
        if _CLOSING[opened.text] != token.text:
            raise Fault(
                "parse_error",
                f"'{opened.text}' is closed by '{token.text}', and '{_CLOSING[opened.text]}' is expected",
                None,
                token.place,
            )
        if opened.text == "{" and len(items) % 2:
            raise Fault("parse_error", "a map needs a value for each key", None, opened.place)
        if opened.text == "(" and not items:
            raise Fault("parse_error", "the empty list () is no call", "use [] for an empty vector", opened.place)
        return _MADE[opened.text](tuple(items), opened.place)

    def _atom(self, token: Token) -> Form:
        match token.kind:
            case "number":
                return self._number(token)
            case "keyword":
                return self._named(token.text, Keyword(token.text[1:]))  # type: ignore[no-any-return]  # the same keyword
            case "symbol":
                return self._symbol(token)
            case kind:
                return _ATOMS[kind](token)

    def _symbol(self, token: Token) -> Form:
        if token.text in _WORDS:
            return _WORDS[token.text]  # type: ignore[no-any-return]  # nil, true or false
        if token.text.count("/") > 1 and token.text != "//":
            raise Fault("parse_error", f"{token.text} has more than one namespace", None, token.place)
        self._named(token.text, None)
        return Symbol(token.text, token.place)

    def _named(self, name: str, value: Any) -> Any:
        value = self._names.setdefault(name, value)
        if len(self._names) > self._limits.names:
            raise Fault(
                "parse_error", f"the program has more than {self._limits.names} names; Limits(names=…) raises it"
            )
        return value

    def _number(self, token: Token) -> Form:
        text = token.text
        if _INTEGER.fullmatch(text):
            if len(text.lstrip("+-")) > self._limits.digits:
                raise Fault(
                    "parse_error",
                    f"a number has more than {self._limits.digits} digits; Limits(digits=…) raises it",
                    None,
                    token.place,
                )
            return int(text)
        if _FLOAT.fullmatch(text) and len(text) <= self._limits.digits:
            return float(text)
        raise Fault(
            "parse_error",
            f"{text[:40]} is no number",
            "numbers are written as 12, -3, 1.5 or 2e10; there are no ratios, suffixes or other bases",
            token.place,
        )


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[0]), text) if "\\" in text else text


_ATOMS: Final[dict[str, Callable[[Token], Form]]] = {
    "string": lambda token: _unescaped(token.text[1:-1]),
    "regex": lambda token: Regex(token.text[2:-1], token.place),
    "special": lambda token: _FLOATS[token.text],
    "char": lambda token: _CHARACTERS.get(token.text[1:], token.text[1:]),
    "var": lambda token: VarOf(token.text[2:], token.place),
}
