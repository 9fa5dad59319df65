"""Google-style docstrings, as far as a tool's description needs them."""

import inspect
import re
from collections.abc import Iterable, Mapping
from textwrap import dedent
from typing import NamedTuple

_HEADING = re.compile(r"(?:Args|Arguments|Attributes|Examples?|Notes?|Raises|Returns|Yields):\s*")
_ARGUMENTS = ("Args:", "Arguments:")
_ENTRY = re.compile(r"(?P<name>\w+)(?: *\(.*?\))?: *(?P<text>.*)")


class Docstring(NamedTuple):
    """What a docstring says.

    Attributes:
        description: Everything before the first section.
        parameters: Descriptions of single parameters, by name.
    """

    description: str
    parameters: Mapping[str, str]


def parse_docstring(text: str | None) -> Docstring:
    """Read a docstring; whatever has another form than expected is left out."""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for line in inspect.cleandoc(text or "").splitlines():
        if _HEADING.fullmatch(line):
            current = "Args" if line.strip() in _ARGUMENTS else line
            sections.setdefault(current, [])
        else:
            sections[current].append(line)
    return Docstring("\n".join(sections[""]).strip(), _entries(sections.get("Args", [])))


def _entries(lines: Iterable[str]) -> dict[str, str]:
    """Descriptions by name; a line that is indented further goes on with the one before."""
    found: dict[str, str] = {}
    name = ""
    for line in dedent("\n".join(lines)).splitlines():
        if entry := _ENTRY.fullmatch(line):
            name = entry["name"]
            found[name] = entry["text"]
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}"
    return found
