"""Docstrings in the styles of Google, NumPy and Sphinx, as far as a tool's description needs them.

griffe and docstring-parser parse them completely; only the description and the parameters are needed here, which is not
worth a core dependency.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Final, NamedTuple

_SECTIONS: Final = (
    "Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters|Attributes|Methods|"
    "Example|Examples|Note|Notes|"
    "Raises|Returns|Return|Receives|Yields|Yield|Warns|Warning|Warnings|See Also|References|Todo"
)
_PARAMETERS: Final = frozenset({
    "Args",
    "Arguments",
    "Parameters",
    "Params",
    "Keyword Args",
    "Keyword Arguments",
    "Other Parameters",
})  # fmt: skip
_GOOGLE: Final = re.compile(rf"({_SECTIONS}):\s*")
_NUMPY: Final = re.compile(rf"({_SECTIONS})\s*")
_RULE: Final = re.compile(r"-{3,}\s*")
_FIELD: Final = re.compile(r":(?P<kind>\w+)(?:\s+(?P<about>[^:]*))?:(?:\s+(?P<text>.*))?")
_FIELDS: Final = frozenset({"param", "parameter", "arg", "argument", "key", "keyword", "kwarg"})
_FIELD_ENDS: Final = _FIELDS | {
    *("type", "raises", "raise", "except", "exception", "return", "returns", "rtype", "yields", "ytype", "yield"),
    *("var", "ivar", "cvar", "vartype", "meta", "deprecated"),
}
_ENTRY: Final = re.compile(r"(?P<name>\w+)(?: *\(.*?\))?: *(?P<text>.*)")  # name (type): text
_NAMES: Final = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")  # one, two : type


class Docstring(NamedTuple):
    """What a docstring says.

    Attributes:
        description: Everything before the first section.
        parameters: Descriptions of single parameters, by name.
    """

    description: str
    parameters: Mapping[str, str]


def parse_docstring(text: str | None) -> Docstring:
    """Parse a docstring; parts in an unexpected form are left out."""
    lines = inspect.cleandoc(text or "").splitlines()
    description, sections, fields = _parts(lines)
    found: dict[str, str] = {}
    for read, body in sections:
        found |= read(body)
    return Docstring("\n".join(description).strip(), {**found, **_fields(fields)})


Reader = Callable[[Sequence[str]], Mapping[str, str]]
Section = tuple[Reader, list[str]]


def _parts(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[Section], Sequence[str]]:
    """The description, the sections with what reads each, and the lines from the first field of Sphinx on."""
    description: list[str] = []
    sections: list[Section] = []
    current = description
    skipped = False
    for index, (line, below) in enumerate(pairwise([*lines, ""])):
        reader = _heading(line, below)
        if reader is not None:
            sections.append((reader, current := []))
        elif _begins_fields(line):
            return description, sections, lines[index:]
        elif not skipped:
            current.append(line)
        skipped = reader is not None and _RULE.fullmatch(below) is not None
    return description, sections, ()


def _heading(line: str, below: str) -> Reader | None:
    """What reads the section that begins with a line; None if none does."""
    google = _GOOGLE.fullmatch(line)
    if google is not None:
        return _entries if google[1] in _PARAMETERS else _nothing
    numpy = _NUMPY.fullmatch(line) if _RULE.fullmatch(below) else None
    if numpy is not None:
        return _blocks if numpy[1] in _PARAMETERS else _nothing
    return None


def _nothing(_lines: Sequence[str]) -> Mapping[str, str]:
    return {}


def _entries(lines: Sequence[str]) -> Mapping[str, str]:
    """Google: ``name (type): text``; a line that is indented further goes on with the one before."""
    found: dict[str, str] = {}
    name = ""
    for line in _flush(lines):
        if entry := _ENTRY.fullmatch(line):
            name = entry["name"]
            found[name] = entry["text"]
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _blocks(lines: Sequence[str]) -> Mapping[str, str]:
    """NumPy: ``one, two : type``, and below it, indented, the text."""
    found: dict[str, str] = {}
    names: Sequence[str] = ()
    for line in _flush(lines):
        if line and not line[0].isspace():
            entry = _NAMES.fullmatch(line)
            names = [] if entry is None else [name.strip(" *") for name in entry["names"].split(",")]
            found |= dict.fromkeys(names, "")
        elif line.strip():
            found |= {name: f"{found[name]} {line.strip()}".strip() for name in names}
    return found


def _fields(lines: Iterable[str]) -> Mapping[str, str]:
    """Sphinx: ``:param type name: text``; what follows goes on with it until the next field, or a new paragraph."""
    found: dict[str, str] = {}
    name, is_apart = "", False
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is not None and field["kind"] in _FIELD_ENDS:
            name = _described(field)
            found |= {name: field["text"] or ""} if name else {}
        elif name and line.strip() and (line[0].isspace() or not is_apart):
            found[name] = f"{found[name]} {line.strip()}".strip()
        elif line.strip():
            name = ""
        is_apart = not line.strip()
    return found


def _described(field: re.Match[str]) -> str:
    """The parameter that a field describes; nothing if it describes something else."""
    about = (field["about"] or "").split()
    return about[-1].lstrip("*\\") if about and field["kind"] in _FIELDS else ""


def _begins_fields(line: str) -> bool:
    field = _FIELD.fullmatch(line)
    return field is not None and field["kind"] in _FIELD_ENDS


def _flush(lines: Sequence[str]) -> Sequence[str]:
    """Lines without the indentation that all of them have."""
    return dedent("\n".join(lines)).splitlines()
