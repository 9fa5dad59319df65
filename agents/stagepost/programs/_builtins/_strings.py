"""Texts."""

import re
from collections.abc import Callable
from typing import Any, Final

from .._machine import Machine
from .._values._names import wrong_types
from .._values._show import Printer
from .._values._text import graphemes, simple
from .._values._types import Builtin, Pattern
from ._regexes import replaced, split_by
from ._sequence import family, sequence

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,400}")
_FLOAT: Final = re.compile(r"[+-]?[0-9]{1,400}(\.[0-9]{0,400})?([eE][+-]?[0-9]{1,4})?")


def text(name: str, *values: Any) -> None:
    """Refuse what is no text."""
    for value in values:
        if type(value) is not str:
            raise wrong_types(name, *values)


def _printer(m: Machine) -> Printer:
    return Printer(None, m.tick)


def str_(m: Machine, *values: Any) -> str:
    printer = _printer(m)
    return joined(m, "", [printer.said(value) for value in values])


def pr_str(m: Machine, *values: Any) -> str:
    printer = _printer(m)
    return joined(m, " ", [printer.text(value) for value in values])


def joined(m: Machine, between: str, parts: list[str]) -> str:
    """The texts as one; counted before it is made."""
    m.charge(64 + sum(map(len, parts)) + len(between) * len(parts))
    return between.join(parts)


def join(m: Machine, *args: Any) -> str:
    between, coll = args if len(args) == 2 else ("", args[0])  # noqa: PLR2004 - with a separator
    text("join", between)
    printer = _printer(m)
    return joined(m, between, m.each(printer.said, sequence(m, coll, "join")))


def subs(m: Machine, of: Any, start: Any, end: Any = None) -> str:
    text("subs", of)
    if type(start) is not int or type(end) not in {int, type(None)}:
        raise wrong_types("subs", of, start, end)
    cut = slice(max(start, 0), None if end is None else max(end, 0))
    return m.string(of[cut] if simple(of) else "".join(graphemes(of, m.tick)[cut]))


def split(m: Machine, of: Any, separator: Any) -> list[Any]:
    if type(of) is str and type(separator) is Pattern:
        return split_by(m, of, separator)
    text("split", of, separator)
    m.touch(len(of))
    m.charge(60 * (of.count(separator) + 1) if separator else 60 * len(of))
    return m.vector(of.split(separator) if separator else graphemes(of, m.tick))


def split_lines(m: Machine, of: Any) -> list[Any]:
    text("split-lines", of)
    m.charge(60 * (of.count("\n") + 1) + len(of))
    lines = of.replace("\r\n", "\n").split("\n")
    while lines and not lines[-1]:
        lines.pop()
    return m.vector(lines)


def replace(m: Machine, of: Any, old: Any, new: Any) -> str:
    if type(of) is str and type(old) is Pattern and type(new) is str:
        return replaced(m, of, old, new)
    text("replace", of, old, new)
    m.touch(len(of))
    m.charge(len(of) + of.count(old) * len(new))
    return m.string(of.replace(old, new))


def _mapped(name: str, act: Callable[[str], str]) -> Callable[[Machine, Any], str]:
    def mapped(m: Machine, of: Any) -> str:
        text(name, of)
        m.touch(len(of))
        return m.string(act(of))

    return mapped


def _tested(name: str, act: Callable[[str, str], bool]) -> Callable[[Machine, Any, Any], bool]:
    def tested(m: Machine, of: Any, part: Any) -> bool:
        text(name, of, part)
        m.touch(len(of))
        return act(of, part)

    return tested


def index_of(m: Machine, of: Any, part: Any, start: Any = 0) -> int | None:
    text("index-of", of, part)
    if type(start) is not int:
        raise wrong_types("index-of", of, part, start)
    found = of.find(part, _offset(m, of, max(start, 0)))
    return _place(m, of, found)


def last_index_of(m: Machine, of: Any, part: Any, end: Any = None) -> int | None:
    text("last-index-of", of, part)
    if type(end) not in {int, type(None)}:
        raise wrong_types("last-index-of", of, part, end)
    limit = len(of) if end is None else _offset(m, of, max(end, 0)) + len(part)
    return _place(m, of, of.rfind(part, 0, limit))


def _offset(m: Machine, of: str, index: int) -> int:
    return index if simple(of) else len("".join(graphemes(of, m.tick)[:index]))


def _place(m: Machine, of: str, found: int) -> int | None:
    if found < 0:
        return None
    return found if simple(of) else len(graphemes(of[:found], m.tick))


def _java_index(m: Machine, of: Any, part: Any, start: Any = 0) -> int:
    found = index_of(m, of, part, start)
    return -1 if found is None else found


def _java_last(m: Machine, of: Any, part: Any) -> int:
    found = last_index_of(m, of, part)
    return -1 if found is None else found


def parse_long(_: Machine, of: Any) -> int | None:
    return int(of) if type(of) is str and _INTEGER.fullmatch(of) else None


def parse_double(_: Machine, of: Any) -> float | None:
    return float(of) if type(of) is str and _FLOAT.fullmatch(of) else None


B = Builtin
STRINGS: Final = family(
    "String",
    B("str", 0, None, str_, "the values as one text; nil is empty"),
    B("pr-str", 0, None, pr_str, "as they are written in programs, with spaces between"),
    B("subs", 2, 3, subs, "from an index, up to another"),
    B("join", 1, 2, join, "the elements as one text: (join separator coll)"),
    B("split", 2, 2, split, '(split text separator), a text or a regular expression; "" gives the characters'),
    B("split-lines", 1, 1, split_lines, "the lines"),
    B("trim", 1, 1, _mapped("trim", str.strip), "without white space around it"),
    B("replace", 3, 3, replace, "(replace text old new), all of them; old may be a regular expression"),
    B("upper-case", 1, 1, _mapped("upper-case", str.upper), "in capitals", "", ("upcase",)),
    B("lower-case", 1, 1, _mapped("lower-case", str.lower), "in small letters", "", ("downcase",)),
    B("starts-with?", 2, 2, _tested("starts-with?", str.startswith), "whether it begins so"),
    B("ends-with?", 2, 2, _tested("ends-with?", str.endswith), "whether it ends so"),
    B("includes?", 2, 2, _tested("includes?", str.__contains__), "whether it contains a text"),
    B("index-of", 2, 3, index_of, "where a text begins in it, or nil"),
    B("last-index-of", 2, 3, last_index_of, "where it begins last, or nil"),
    B(".indexOf", 2, 3, _java_index, "as index-of, but -1"),
    B(".lastIndexOf", 2, 2, _java_last, "as last-index-of, but -1"),
    B("parse-long", 1, 1, parse_long, "the integer that the whole text is, or nil", "", ("parse-int",)),
    B("parse-double", 1, 1, parse_double, "the number that the whole text is, or nil"),
)
