"""Prompts with placeholders for the fields of an agent's input."""

import re
from collections.abc import Mapping, Sequence

from pydantic_core import to_json

# A placeholder is a name in braces. All other braces, as in an example of JSON, stay what they are.
_PLACEHOLDER = re.compile(r"\{(?P<escaped>\{[A-Za-z_]\w*\})\}|\{(?P<field>[A-Za-z_]\w*)\}")


def placeholders(prompt: str) -> Sequence[str]:
    """The fields that a prompt names, in order, each once."""
    found = (match["field"] for match in _PLACEHOLDER.finditer(prompt))
    return tuple(dict.fromkeys(name for name in found if name is not None))


def fill(prompt: str, fields: Mapping[str, object]) -> str:
    """The prompt with its placeholders replaced: texts as they are, everything else as JSON."""

    def replaced(match: re.Match[str]) -> str:
        return match["escaped"] or _text(fields[match["field"]])

    return _PLACEHOLDER.sub(replaced, prompt)


def _text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
