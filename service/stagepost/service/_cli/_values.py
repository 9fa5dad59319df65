"""JSON values as people read them."""

import json
from collections.abc import Iterable

from pydantic import JsonValue
from rich.text import Text

from ._layout import cut
from ._styles import DIM
from ._texts import clean, shortened


def compact(value: object, length: int) -> str:
    """A value in one line of at most so many characters."""
    return shortened(json.dumps(value, ensure_ascii=False), length)


def tree(value: JsonValue, indent: int = 2) -> Iterable[Text]:
    """A value over as many lines as it needs, whole: names and values, texts with their own line breaks."""
    pad = " " * indent
    match value:
        case dict() if value:
            for name, each in value.items():
                yield from _named(clean(str(name)), each, indent)
        case list() if value:
            for place, each in enumerate(value):
                yield from _named(f"[{place}]", each, indent)
        case str() if "\n" in value:
            for line in clean(value).split("\n"):
                yield Text(f"{pad}{line}")
        case _:
            yield Text(f"{pad}{_scalar(value)}")


def _named(name: str, value: JsonValue, indent: int) -> Iterable[Text]:
    if (isinstance(value, dict | list) and value) or (isinstance(value, str) and "\n" in value):
        yield Text(f"{' ' * indent}{name}", DIM)
        yield from tree(value, indent + 2)
    else:
        yield Text.assemble(" " * indent, (f"{name}  ", DIM), _scalar(value))


def _scalar(value: JsonValue) -> str:
    return clean(value) if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def limited(lines: Iterable[Text], width: int | None) -> Iterable[Text]:
    """Lines that do not go on in the next one."""
    return (cut(line, width) for line in lines)
