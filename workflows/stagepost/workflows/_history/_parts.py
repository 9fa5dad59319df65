"""What entries of a history consist of, and how they are written as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import ChildRun


class AskedArrow(NamedTuple):
    """A condition of an edge that was asked.

    Attributes:
        when: What it is called; None for an edge without one.
        to: The node that the edge leads to; None out of the graph.
        says: Its answer.
    """

    when: str | None
    to: str | None
    says: bool

    def to_dict(self) -> dict[str, Any]:
        """It as values that ``json.dumps`` takes."""
        return self._asdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionEntry:
    """Where a run went on, where there was something to decide.

    Attributes:
        path: The conditional, or the arrow after a node (``review/draft->``).
        to: Path of the place that it led to; None at the end, if it led out, or if there was no way on. For a
            conditional see `route`.
        route: Which route a conditional has taken; None for a graph.
        routes: All routes of the conditional: those that are not `route` were not taken.
        asked: What was asked at the edges of a graph, in order, also those that said no. After the first that says yes
            no other is asked.
        failed: Whether there was no way on; why not stands in the entry that has failed.
    """

    path: str
    to: str | None = None
    route: str | None = None
    routes: Sequence[str] = ()
    asked: Sequence[AskedArrow] = ()
    failed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """It as values that ``json.dumps`` takes."""
        return as_dict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEntry:
    """A try that has failed, after which the step was tried again in the same process.

    Attributes:
        attempt: The how many-th try it was, from 1.
        at: When it failed (UTC).
        error: Why.
        seconds: How long the step waited before the next one.
    """

    attempt: int
    at: datetime
    error: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """It as values that ``json.dumps`` takes."""
        return as_dict(self)


def as_dict(entry: Any) -> dict[str, Any]:
    """The fields of an entry as values that ``json.dumps`` takes."""
    return {each.name: _plain(getattr(entry, each.name)) for each in fields(entry)}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    match value._asdict() if isinstance(value, ChildRun) else value:
        case datetime():
            return value.isoformat()
        case Enum():
            return value.value
        case Mapping() as given:
            return {key: _plain(each) for key, each in given.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    return value
