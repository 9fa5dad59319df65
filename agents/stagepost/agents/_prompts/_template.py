"""Texts with variables in double braces. What is no name in double braces, such as JSON, is text."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

_VARIABLE: Final = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def variables_of(text: str) -> Sequence[str]:
    """The variables that a text names, in order, each once."""
    return tuple(dict.fromkeys(_VARIABLE.findall(text)))


def unknown_variables(text: str, known: Collection[str]) -> Sequence[str]:
    """Those that are none of the known ones."""
    return tuple(name for name in variables_of(text) if name not in known)


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its variables replaced, once: what a value contains is not read again."""
    return _VARIABLE.sub(lambda found: values[found[1]], text)
