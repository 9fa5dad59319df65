"""Which runs a list is about: filters that combine, read from what stands after the question mark."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.datastructures import QueryParams

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunFilters

from .._http._runs._reading import read_query
from .._wire._asked import RunsPageAsked
from ..errors import InvalidBody

_LISTS: Final = ("status", "label")
_TEXTS: Final = ("workflow", "key", "text", "since", "until", "below", "forked_from")
_PAGES: Final = ("after", "before")
_TIMES: Final = ("since", "until")
_MINUTES: Final = len("2026-11-28T13:05")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which runs are asked for.

    Attributes:
        given: What was typed, by field; lists for ``status`` and ``label``.
        asked: The same, checked; None if it does not fit.
        problems: What does not fit, by field.
    """

    given: Mapping[str, Any]
    asked: RunsPageAsked | None
    problems: Mapping[str, str]

    @classmethod
    def of(cls, query: QueryParams, *, limit: int) -> "Filters":
        """Those of a query; what is empty does not count."""
        given: dict[str, Any] = {name: query.get(name, "").strip() for name in (*_TEXTS, *_PAGES)}
        given |= {name: [each.strip() for each in query.getlist(name) if each.strip()] for name in _LISTS}
        pairs = [(name, each) for name in _LISTS for each in given[name]]
        pairs += [(name, _zoned(name, given[name])) for name in (*_TEXTS, *_PAGES) if given[name]]
        try:
            asked = read_query(QueryParams([*pairs, ("limit", str(limit))]), RunsPageAsked)
        except InvalidBody as error:
            return cls(given, None, {each.field.partition(".")[0]: each.message for each in error.details})
        return cls(given, asked, {})

    @property
    def is_any(self) -> bool:
        """Whether nothing is asked for but pages."""
        return not any(self.given[name] for name in (*_LISTS, *_TEXTS))

    @property
    def is_combined(self) -> bool:
        """Whether several things are asked for, beside the status."""
        labels: list[str] = self.given["label"]
        return len(labels) + sum(bool(self.given[name]) for name in _TEXTS) > 1

    def query(self, **changes: Any) -> dict[str, Any]:
        """What stands after the question mark for the same runs, from the first page on, but for some changes."""
        kept = {name: self.given[name] for name in (*_LISTS, *_TEXTS)}
        return {**kept, **changes}

    def store(self, **changes: Any) -> RunFilters:
        """It as verbs take it; with changes of single filters.

        Raises:
            ValueError: It does not fit.
        """
        if self.asked is None:
            raise ValueError("the filters do not fit")
        found: RunFilters = self.asked.filters()
        found.update(changes)  # type: ignore[typeddict-item]  # names of filters
        return found


def _zoned(name: str, text: str) -> str:
    """A time that a browser gives without a zone is in UTC, as all times on these pages."""
    is_local = name in _TIMES and len(text) >= _MINUTES and not text.endswith("Z") and "+" not in text
    return f"{text}Z" if is_local else text
