"""What a tool call does, in a few words for people."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

_VERBS: Final = {
    "get": "Getting",
    "search": "Searching",
    "create": "Creating",
    "update": "Updating",
    "delete": "Deleting",
    "send": "Sending",
    "fetch": "Fetching",
    "find": "Finding",
    "check": "Checking",
    "validate": "Validating",
    "process": "Processing",
    "generate": "Generating",
    "calculate": "Calculating",
    "analyze": "Analyzing",
    "read": "Reading",
    "write": "Writing",
    "list": "Listing",
    "query": "Querying",
    "execute": "Executing",
    "run": "Running",
}
_LONGEST: Final = 40  # characters of a value
_LONGEST_TEXT: Final = 200  # characters of a description
_AFTER: Final = (  # "a city" is the argument in "a city in Norway", and not in "a city council"
    r"(?![\w'-])(?!\s+(?!(?i:and|or|in|on|at|by|of|to|for|from|with|as|if|is|are|now|today|that|which|when|within"
    r"|into|per|via|using|between|before|after|until|since|then)\b)\w)"
)
_END_OF_SENTENCE: Final = re.compile(r"(?<=[^.])[.!?](?=\s|$)|\n")


def phrase(tool: str, description: str, arguments: JsonValue, mask: Callable[[str], str] | None = None) -> str:
    """What a tool call does, for people: "Getting weather for London...".

    The leading verb of the description gets its -ing form, and each argument that is named there its value: as
    ``{name}``, "a name", "an name" or "the name", whole words only, with spaces or underscores.

    Args:
        tool: The tool's name.
        description: What the model is told about it; only the first sentence counts. Empty if it is not known.
        arguments: Those of the call; anything but an object names nothing.
        mask: Hides secrets.
    """
    sentence = _sentence(description)
    if not sentence:
        return f"Calling {tool}..."
    given = _values(arguments, mask) if isinstance(arguments, Mapping) else {}
    text = f"{_named(sentence, given)}..."
    return text if mask is None else mask(text)


@lru_cache(maxsize=256)
def _sentence(description: str) -> str:
    """The first sentence, with the -ing form of its verb."""
    text = description.strip()
    end = _END_OF_SENTENCE.search(text)
    sentence = (text if end is None else text[: end.start()])[:_LONGEST_TEXT].rstrip(" .")
    verb, space, rest = sentence.partition(" ")
    return f"{_VERBS.get(verb.lower(), verb)}{space}{rest}"


def _values(arguments: Mapping[str, JsonValue], mask: Callable[[str], str] | None) -> Mapping[str, str]:
    """The values as they are shown, by the names in which they are looked for."""
    shown: dict[str, str] = {}
    for name, value in arguments.items():
        text = value if isinstance(value, str) else to_json(value).decode()
        text = " ".join((text if mask is None else mask(text)).split())  # masked before it is cut: half a secret is one
        text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        shown[name] = text
        shown.setdefault(name.replace("_", " "), text)
    return shown


def _named(sentence: str, values: Mapping[str, str]) -> str:
    """The sentence with the values in place of the names; no name is looked for in a value."""
    names = sorted((name for name in values if name.strip()), key=len, reverse=True)
    if not names:
        return sentence
    return _pattern(tuple(names)).sub(lambda found: values[found[1] or found[2]], sentence)


@lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    any_of = "|".join(map(re.escape, names))
    return re.compile(rf"\{{({any_of})\}}|\b(?i:an?|the)\s+({any_of}){_AFTER}")
