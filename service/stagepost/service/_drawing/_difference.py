"""What has become of a JSON value, in lines that name where."""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any, Final, NamedTuple

from stagepost._dataclasses import dataclass

from ._shown import ROOM, Shown, shown

_DEEPEST: Final = 40  # below that, values are compared as a whole
MOST_LINES: Final = 200


class ChangeKind(StrEnum):
    """What has happened to a part of a value."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    APPENDED = "appended"


class Line(NamedTuple):
    """One difference.

    Attributes:
        kind: What has happened.
        path: Where: ``order.items[3].name``; empty for the whole value.
        before: What was there; None if nothing was.
        after: What is there; None if nothing is.
    """

    kind: ChangeKind
    path: str
    before: Shown | None = None
    after: Shown | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """How two values differ.

    Attributes:
        lines: The differences, in the order of the values.
        is_cut: Whether there are more.
    """

    lines: Sequence[Line]
    is_cut: bool = False


class Gone(NamedTuple):
    """What stands for a value that is not there: None is a value."""


GONE: Final = Gone()


def difference(
    before: object, after: object, *, path: str = "", most: int = MOST_LINES, room: int = ROOM
) -> Difference:
    """How two values differ.

    Args:
        before: What was there, as JSON values; `GONE` if nothing was.
        after: What is there; `GONE` if nothing is.
        path: How the paths of its parts begin.
        most: At most so many lines.
        room: How many letters of a value are shown.
    """
    lines = [*islice(_Comparing(room).lines(before, after, path, 0), most + 1)]
    return Difference(lines[:most], len(lines) > most)


class _Comparing:
    def __init__(self, room: int) -> None:
        self._room = room

    def lines(self, before: Any, after: Any, path: str, depth: int) -> Iterator[Line]:
        """The differences of two values."""
        if before is GONE or after is GONE:
            yield from self._one_sided(before, after, path)
        elif isinstance(before, dict) and isinstance(after, dict) and depth < _DEEPEST:
            yield from self._objects(before, after, path, depth)
        elif isinstance(before, list) and isinstance(after, list) and depth < _DEEPEST:
            yield from self._lists(before, after, path, depth)
        elif not _same(before, after):
            yield Line(ChangeKind.CHANGED, path, self._shown(before), self._shown(after))

    def _one_sided(self, before: Any, after: Any, path: str) -> Iterator[Line]:
        if before is not GONE:
            yield Line(ChangeKind.REMOVED, path, before=self._shown(before))
        elif after is not GONE:
            yield Line(ChangeKind.ADDED, path, after=self._shown(after))

    def _objects(self, before: Mapping[str, Any], after: Mapping[str, Any], path: str, depth: int) -> Iterator[Line]:
        for key in dict.fromkeys([*before, *after]):
            yield from self.lines(before.get(key, GONE), after.get(key, GONE), _below(path, key), depth + 1)

    def _lists(self, before: Sequence[Any], after: Sequence[Any], path: str, depth: int) -> Iterator[Line]:
        """Elements that both begin or end with are the same; of those between, as many are compared as there are."""
        first = _common(before, after)
        last = min(_common(before[::-1], after[::-1]), len(before) - first, len(after) - first)
        old, new = before[first : len(before) - last], after[first : len(after) - last]
        for number in range(max(len(old), len(new))):
            where = f"{path}[{first + number}]"
            if number < len(old) and number < len(new):
                yield from self.lines(old[number], new[number], where, depth + 1)
            elif number < len(old):
                yield Line(ChangeKind.REMOVED, where, before=self._shown(old[number]))
            else:
                kind = ChangeKind.ADDED if last else ChangeKind.APPENDED
                yield Line(kind, where, after=self._shown(new[number]))

    def _shown(self, value: object) -> Shown:
        return shown(value, self._room)


def _common(before: Sequence[Any], after: Sequence[Any]) -> int:
    """With how many elements both begin."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((number for number, (one, other) in pairs if not _same(one, other)), min(len(before), len(after)))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same as JSON: true is not 1, and 1 is not 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


def _below(path: str, key: str) -> str:
    if not key.isidentifier() and not key.replace("-", "_").isidentifier():
        return f"{path}[{json.dumps(key[:100], ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key
