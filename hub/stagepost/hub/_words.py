"""Events in words: one sentence of a class's template and an event's fields, with short ids."""

import re
from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any, Final

from ._observer import Event

_SHORT: Final = 13
_message_id: Final = re.compile(r"[0-9a-f]{11,}-([0-9a-f]{8})-([0-9a-f]{10,})(-reply)?").fullmatch


def short_id(id_: str) -> str:
    """A short form of an id, the same each time: hub and number of a message, the ends of another long id."""
    if (found := _message_id(id_)) is not None:
        return f"{found[1][:4]}-{int(found[2], 16)}{found[3] or ''}"
    return id_ if len(id_) <= _SHORT else f"{id_[:4]}…{id_[-6:]}"


def duration(seconds: float) -> str:
    """A duration with the unit that makes it a small number: ``870 µs``, ``3.2 ms``, ``14 s``, ``2.5 min``."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def _if_any(words: str) -> Callable[[Any], str]:
    return lambda value: "" if value is None or value == "" else f" {words} {value}"


_FORMS: Final[Mapping[str, Callable[[Any], str]]] = {
    "ago": duration,
    "id": short_id,
    "from": _if_any("from"),
    "on": _if_any("on"),
    "at": _if_any("at"),
    "in": _if_any("in group"),
    "until": _if_any("until"),
    "nth": lambda index: f"{index + 1}",
    "well": lambda ok: "ended well" if ok else "failed",
    "again": lambda again: " again" if again else "",
}


class _Words(Formatter):
    """Formats a template with the fields of an event, which is its only argument."""

    def get_value(self, key: int | str, args: Sequence[Any], _: Mapping[str, Any]) -> Any:
        return getattr(args[0], str(key))

    def format_field(self, value: Any, format_spec: str) -> str:
        form = _FORMS.get(format_spec)
        return format(value, format_spec) if form is None else form(value)


_words: Final = _Words()


def words_of(event: Event) -> str | None:
    """The sentence for an event; None if its class has no template."""
    template = type(event).log_words
    return _words.vformat(template, (event,), {}) if template else None
