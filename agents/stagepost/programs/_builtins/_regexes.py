"""Regular expressions, and searches in lines."""

import re
from typing import Any, Final

from .._machine import Machine
from .._values._names import wrong_types
from .._values._regex import pattern
from .._values._types import Builtin, Pattern
from ._sequence import family

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,400}")


def _given(m: Machine, name: str, wanted: Any, of: Any) -> tuple[Any, str]:
    if type(wanted) is str:
        wanted = pattern(wanted, m.limits)
    if type(wanted) is not Pattern or type(of) is not str:
        raise wrong_types(name, wanted, of, hint=f'the expression comes first: ({name} #"…" text)')
    looked = of[: m.limits.matched]
    m.spend(1 + (len(looked) >> 6))
    return wanted.compiled, looked


def _found(m: Machine, match: Any) -> Any:
    if match is None:
        return None
    groups = match.groups()
    return m.vector([match.group(), *groups]) if groups else m.string(match.group())


def re_pattern(m: Machine, text: Any) -> Pattern:
    if type(text) is Pattern:
        return text
    if type(text) is not str:
        raise wrong_types("re-pattern", text)
    m.charge(4096)
    return pattern(text, m.limits)


def re_find(m: Machine, wanted: Any, of: Any) -> Any:
    expression, text = _given(m, "re-find", wanted, of)
    return _found(m, expression.search(text))


def re_matches(m: Machine, wanted: Any, of: Any) -> Any:
    expression, text = _given(m, "re-matches", wanted, of)
    return _found(m, expression.fullmatch(text)) if len(text) == len(of) else None


def re_seq(m: Machine, wanted: Any, of: Any) -> list[Any]:
    expression, text = _given(m, "re-seq", wanted, of)
    made = []
    for match in expression.finditer(text):
        m.tick()
        m.charge(8)
        made.append(_found(m, match))
    return m.vector(made)


def split_by(m: Machine, of: str, wanted: Pattern) -> list[Any]:
    """The parts between the matches."""
    expression, text = _given(m, "split", wanted, of)
    made = []
    start = 0
    for match in expression.finditer(text):
        m.tick()
        if match.end() == match.start():
            continue
        made.append(m.string(text[start : match.start()]))
        start = match.end()
    made.append(m.string(of[start:]))
    return m.vector(made)


def re_split(m: Machine, wanted: Any, of: Any) -> list[Any]:
    _given(m, "re-split", wanted, of)
    return split_by(m, of, wanted if type(wanted) is Pattern else pattern(wanted, m.limits))


def replaced(m: Machine, of: str, wanted: Pattern, new: str) -> str:
    """The text with each match replaced; ``$1`` is the first group."""
    expression, text = _given(m, "replace", wanted, of)
    parts = []
    start = 0
    for match in expression.finditer(text):
        m.tick()
        parts += [text[start : match.start()], _filled(new, match)]
        m.charge(len(parts[-1]) + 60)
        start = match.end()
    return m.string("".join([*parts, of[start:]]))


def _filled(new: str, match: Any) -> str:
    if "$" not in new:
        return new
    groups = (match.group(), *match.groups())
    return re.sub(r"\$([0-9])", lambda found: groups[int(found[1])] or "" if int(found[1]) < len(groups) else "", new)


def extract(m: Machine, wanted: Any, of: Any, group: Any = None) -> Any:
    expression, text = _given(m, "extract", wanted, of)
    match = expression.search(text)
    if match is None:
        return None
    groups = (match.group(), *match.groups())
    index = min(1, len(groups) - 1) if group is None else group
    if type(index) is not int:
        raise wrong_types("extract", wanted, of, group)
    return groups[index] if 0 <= index < len(groups) else None


def extract_int(m: Machine, wanted: Any, of: Any, group: Any = None, default: Any = None) -> Any:
    found = extract(m, wanted, of, group)
    return int(found) if type(found) is str and _INTEGER.fullmatch(found) else default


def grep(m: Machine, wanted: Any, of: Any) -> list[Any]:
    return [line for _, line in _lines(m, "grep", wanted, of)]


def grep_numbered(m: Machine, wanted: Any, of: Any) -> list[Any]:
    return m.vector([m.vector([number, line]) for number, line in _lines(m, "grep-n", wanted, of)])


def _lines(m: Machine, name: str, wanted: Any, of: Any) -> list[tuple[int, str]]:
    expression, text = _given(m, name, wanted, of)
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        m.tick()
        if expression.search(line):
            m.charge(64 + len(line))
            found.append((number, line))
    return found


B = Builtin
REGEXES: Final = family(
    "Regex",
    B("re-pattern", 1, 1, re_pattern, 'a text as an expression, which is also written #"…"'),
    B("re-find", 2, 2, re_find, "the first match; with groups [match group…]"),
    B("re-matches", 2, 2, re_matches, "the match, if it is the whole text"),
    B("re-seq", 2, 2, re_seq, "all matches"),
    B("re-split", 2, 2, re_split, "the parts between the matches"),
    B("extract", 2, 3, extract, "(extract expression text): its first group"),
    B("extract-int", 2, 4, extract_int, "the same as an integer, or a default: (extract-int e text group default)"),
    B("grep", 2, 2, grep, "the lines with a match"),
    B("grep-n", 2, 2, grep_numbered, "the same as [number line]"),
)
