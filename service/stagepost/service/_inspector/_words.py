"""How values are said on pages."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

_STATUS: Final = {
    "running": "is-busy",
    "waiting": "is-waiting",
    "completed": "is-good",
    "failed": "is-bad",
    "dead": "is-bad",
    "cancelled": "",
}
_LEAST: Final = 0.0005
_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400
_SHORT: Final = 200
_LONG: Final = 4_000
_TOGETHER: Final = 12_000


class Words:
    """What templates call to say a value; all of them take what verbs return."""

    @staticmethod
    def badge(status: str) -> str:
        """The class of a status."""
        return _STATUS.get(status, "")

    @staticmethod
    def time(at: datetime | str | None) -> str:
        """A time, for people: to the second, in UTC."""
        found = moment(at)
        return "" if found is None else f"{found:%d %b %Y %H:%M:%S}"

    @staticmethod
    def iso(at: datetime | str | None) -> str:
        """A time, for programs."""
        found = moment(at)
        return "" if found is None else found.isoformat()

    @staticmethod
    def span(begun: datetime | str | None, ended: datetime | str | None) -> str:
        """How long something took; empty if that is not known."""
        first, last = moment(begun), moment(ended)
        return "" if first is None or last is None else seconds((last - first).total_seconds())

    @staticmethod
    def at(seconds: float) -> datetime:
        """A time that is given in seconds since 1970."""
        return datetime.fromtimestamp(seconds, UTC)

    @staticmethod
    def seconds(span: float) -> str:
        """How long something takes."""
        return seconds(span)

    @staticmethod
    def count(number: int) -> str:
        """A number."""
        return f"{number:,}"

    @staticmethod
    def tries(attempt: int | None, retries: int) -> Sequence[str]:
        """How often a step was begun anew, and how often it was tried after that: two numbers with two causes.

        Args:
            attempt: The how many-th beginning of the step it is; None if nobody has counted.
            retries: How many of its tries failed before the last one.
        """
        begun = (attempt or 1) > 1
        again = f"begun {attempt} times: again after a crash or a wait, or when the run was resumed"
        last = "the last time " if begun else ""
        tried = f"{last}tried {retries + 1} times: {retries} {'retry' if retries == 1 else 'retries'}"
        found = [again] if begun else []
        if retries:
            return [*found, tried]
        return found or (["tried once"] if attempt else [])

    @staticmethod
    def json(value: Any) -> str:
        """A value as JSON, indented; a text as it is."""
        return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)

    @staticmethod
    def short(value: Any, most: int = _SHORT) -> str:
        """The beginning of a value, on one line."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        text = " ".join(text[: most * 2].split())
        return text if len(text) <= most else f"{text[: most - 1]}…"

    @staticmethod
    def share(number: int) -> int:
        """How many characters of each of some values are shown, so that the page stays small."""
        return min(_LONG, max(_SHORT, _TOGETHER // max(number, 1)))

    @staticmethod
    def is_long(text: str, most: int = _LONG) -> bool:
        """Whether a text is cut."""
        return len(text) > most

    @staticmethod
    def cut(text: str, most: int = _LONG) -> str:
        """The beginning of a text that is long."""
        return text[:most]


def moment(at: datetime | str | None) -> datetime | None:
    """A time in UTC."""
    found = datetime.fromisoformat(at) if isinstance(at, str) else at
    return None if found is None else found.astimezone(UTC)


def seconds(span: float) -> str:
    """A time that something took: two units at most."""
    if 0 < span < _LEAST:
        return "<1 ms"
    if span < 1:
        return f"{span * 1000:.0f} ms"
    if span < _MINUTE:
        return f"{span:.1f} s"
    if span < _HOUR:
        return f"{span // _MINUTE:.0f} min {span % _MINUTE:.0f} s"
    if span < _DAY:
        return f"{span // _HOUR:.0f} h {span % _HOUR // _MINUTE:.0f} min"
    return f"{span // _DAY:.0f} d {span % _DAY // _HOUR:.0f} h"
