"""Licences: reducing what metadata says to a short name, and deciding what an expression permits."""

import re
from collections.abc import Callable, Iterable
from email.message import Message

from .metadata import field

LONGEST_NAME = 80
"""A licence text is longer than this, a licence's name is not."""

LONGEST_EXPRESSION = 1000
"""Beyond this an expression is not worth trusting, and counts as unknown."""

# The first match wins, so the special families stand before the general ones. "#" is replaced by the version.
NAMES: tuple[tuple[str, str], ...] = (
    (r"affero|agpl", "AGPL#"),
    (r"lesser general|library general|lgpl", "LGPL#"),
    (r"general public|\bgpl", "GPL#"),
    (r"mozilla|\bmpl", "MPL#"),
    (r"apache|\basl\b", "Apache#"),
    (r"\b0.?bsd|zero.clause bsd", "0BSD"),
    (r"(3|three).?clause|(new|modified|revised).bsd", "BSD-3-Clause"),
    (r"(2|two).?clause|simplified.bsd", "BSD-2-Clause"),
    (r"\bbsd", "BSD"),
    (r"\bmit\b|expat", "MIT"),
    (r"\bisc\b", "ISC"),
    (r"python software foundation|\bpsf", "PSF-2.0"),
    (r"unlicense", "Unlicense"),
    (r"\bcc0", "CC0-1.0"),
    (r"zlib", "Zlib"),
    (r"boost", "BSL-1.0"),
    (r"\bhpnd|historical permission", "HPND"),
    (r"zope|\bzpl", "ZPL#"),
    (r"eclipse|\bepl", "EPL#"),
    (r"public domain", "Public-Domain"),
    (r"proprietary|commercial|all rights reserved", "Proprietary"),
)

# How the body of a licence begins; the one that stands first in a text decides.
BODIES: tuple[tuple[str, str], ...] = (
    ("permission is hereby granted, free of charge", "MIT"),
    ("redistribution and use in source and binary forms", "BSD"),
    ("permission to use, copy, modify, and/or distribute", "ISC"),
    ("permission to use, copy, modify, and distribute", "ISC"),
    ("this is free and unencumbered software", "Unlicense"),
    ("without any express or implied warranty. in no event will the authors", "Zlib"),
    ("apache license", ""),
    ("gnu affero general public license", ""),
    ("gnu lesser general public license", ""),
    ("gnu general public license", ""),
    ("mozilla public license", ""),
    ("python software foundation license", ""),
)

UNTOLD = ("OSI Approved", "DFSG approved")
"""Classifiers that say something about a licence and not which one it is."""

_TERM = r"(?<![\w.+:-])(?!(?:AND|OR|WITH)(?![\w.+:-]))[A-Za-z0-9][A-Za-z0-9.+:-]*"
_AND = re.compile(r"\s*AND\s*", re.IGNORECASE)
_OR = re.compile(r"\s*OR\s*", re.IGNORECASE)
_LICENCE = re.compile(rf"{_TERM}(?:\s+WITH\s+{_TERM})?", re.IGNORECASE)


def read_licence(headers: Message | None) -> str | None:
    """Return the licence by the most telling field: `License-Expression`, `License`, the classifiers.

    A free text in `License` counts once a name is recognised in it; an unknown short text is the last resort.
    Several classifiers do not say whether they are a choice, so they are taken as holding together (`AND`).

    Args:
        headers: The core metadata.

    Returns:
        A short name or an SPDX expression on one line, None if no licence is named.
    """
    expression = field(headers, "License-Expression")
    if expression:
        return expression if len(expression) <= LONGEST_EXPRESSION else None
    text = field(headers, "License") or ""
    classifiers = [str(value) for value in headers.get_all("Classifier", [])] if headers else []
    verbatim = text if len(text) <= LONGEST_NAME else ""
    return short_name(text) or _by_classifiers(classifiers) or verbatim or None


def short_name(text: str) -> str | None:
    """Reduce a licence's name, expression or full text to a short name, None if it is not recognised."""
    text = " ".join(text.split())
    if len(text) > LONGEST_NAME:
        return _of_body(text.lower())
    if re.search(r" (AND|OR|WITH) ", text) and _reduced(text, lambda _: True) is not None:
        return text
    return _of_choice(text) or _of_name(text)


def permits(expression: str, accepts: Callable[[str], bool]) -> bool:
    """Decide whether an expression can be met with acceptable licences only.

    `OR` offers a choice, `AND` does not, parentheses group, and `WITH` belongs to its licence. Text that is
    not an expression counts as one licence.

    Args:
        expression: An SPDX expression or any text.
        accepts: Tells for one licence, its exception included, whether it is acceptable.
    """
    reduced = _reduced(expression, accepts)
    return accepts(expression) if reduced is None else reduced


def _reduced(expression: str, accepts: Callable[[str], bool]) -> bool | None:
    """Turn licences into digits and operators into signs, then fold the parentheses from the inside out."""
    signs = _LICENCE.sub(lambda found: "1" if accepts(found[0]) else "0", expression)
    signs = _OR.sub("|", _AND.sub("&", signs))
    folded = 1
    while folded:
        signs, folded = re.subn(r"\(\s*([01](?:[&|][01])*)\s*\)", lambda found: str(int(_holds(found[1]))), signs)
    return _holds(signs) if re.fullmatch(r"[01](?:[&|][01])*", signs) else None


def _holds(flat: str) -> bool:
    return any("0" not in choice for choice in flat.split("|"))


def _by_classifiers(classifiers: Iterable[str]) -> str | None:
    parts = [value.split(" :: ") for value in classifiers]
    told = [part[-1].strip() for part in parts if part[0] == "License" and part[-1].strip() not in UNTOLD]
    names = {_of_name(name) or "-".join(re.findall(r"[\w.+]+", name)) for name in told if name != "License"}
    return " AND ".join(sorted(filter(None, names))) or None


def _of_choice(text: str) -> str | None:
    """Read `MIT or Apache License 2.0`; in `GPL v2 or later` one side has no name, and it is no choice."""
    sides = re.split(r"\s+(or|and)\s+", text, flags=re.IGNORECASE)
    names = [_of_name(side) for side in sides[::2]]
    if len(set(names)) == 1 or not all(names):
        return None
    words = [name or "" for name in names]
    return words[0] + "".join(f" {sign.upper()} {name}" for sign, name in zip(sides[1::2], words[1:], strict=True))


def _of_name(text: str) -> str | None:
    if re.fullmatch(r"[A-Za-z]+(-[A-Za-z]+)*-\d+(\.\d+)*(-[A-Za-z]+)*", text):
        return text  # an SPDX name already
    lowered = text.lower()
    name = next((name for pattern, name in NAMES if re.search(pattern, lowered)), None)
    return name and name.replace("#", _version(lowered))


def _version(text: str) -> str:
    found = re.search(r"\d(?:\.\d)?", text)
    return f"-{float(found[0])}" if found else ""


def _of_body(text: str) -> str | None:
    places = [(text.find(phrase), name) for phrase, name in BODIES]
    place, name = min((found for found in places if found[0] >= 0), default=(-1, ""))
    if place < 0:
        return None
    if name == "BSD":
        return "BSD-3-Clause" if "neither the name" in text[place:] else "BSD-2-Clause"
    return name or _of_name(text[place : place + LONGEST_NAME])
