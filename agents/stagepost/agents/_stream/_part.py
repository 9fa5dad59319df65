"""What all parts of a stream have."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote

from stagepost._dataclasses import dataclass


class PartKey(NamedTuple):
    """The identity of a numbered part within its task: it is the same whenever and wherever the part is read.

    Attributes:
        path: Names of the agents from the root to the one whose part it is.
        seq: Its place in the transcript.
        type: Its type.
        call_id: The model's id of the call that it belongs to; None if it belongs to none.
        visit: See `StreamPart.visit`.
    """

    path: tuple[str, ...]
    seq: int | None
    type: str
    call_id: str | None
    visit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPart:
    """A part of the stream of an agent's run.

    Numbered parts mirror what is committed: each comes exactly once to a reader who goes on after the last `cursor`
    that it has got. Others are told while the run works, have no `cursor`, and may be dropped.

    Attributes:
        timestamp: When it was committed, or told (UTC). Of parts that are read long after their commit only the time of
            a later one is known.
        task_id: The task, which is the run at the root.
        seq: Its place in the transcript, from 0: that of its message, or for what belongs to a call that of the result
            of the call. None for parts without a number, and ends. Several parts may have the same.
        cursor: What to go on after; None for parts without a number. It means something to the stream only.
        path: Names of the agents from the root to the one whose part it is.
        call_id: The model's id of the call that it belongs to; None if it belongs to none.
        visit: Tells parts apart that are otherwise the same: which run below the task's, for parts of that and for its
            start and end; which question of a call; which end of the task. Empty in most cases.
    """

    type: ClassVar[str] = ""
    is_numbered: ClassVar[bool] = True
    is_last: ClassVar[bool] = False

    timestamp: datetime
    task_id: str
    seq: int | None = None
    cursor: str | None = None
    path: tuple[str, ...] = ()
    call_id: str | None = None
    visit: str = ""

    @property
    def key(self) -> PartKey:
        """Its identity within its task."""
        return PartKey(self.path, self.seq, self.type, self.call_id, self.visit)

    @property
    def idempotency_key(self) -> str:
        """Its identity as a text of printable ASCII without spaces, equal whenever and wherever it is read."""
        path = "/".join(map(_plain, self.path))
        seq = "" if self.seq is None else str(self.seq)
        return ";".join((_plain(self.task_id), path, seq, self.type, _plain(self.call_id or ""), _plain(self.visit)))

    def to_dict(self) -> dict[str, Any]:
        """Its form for JSON: ``type``, what all parts have, and its own fields; `part_from_dict` reads it."""
        told: dict[str, Any] = {"type": self.type}
        for key, name in _names(type(self)):  # type: ignore[arg-type]  # a class is hashable
            told[key] = getattr(self, name)
        told["timestamp"] = self.timestamp.isoformat()
        told["path"] = list(self.path)
        return told


@cache
def _names(kind: type[StreamPart]) -> Sequence[tuple[str, str]]:
    """The keys of a type's form for JSON, and the fields that they are about."""
    return tuple((field.name.rstrip("_"), field.name) for field in fields(kind))


def _plain(text: str) -> str:
    """A text in which letters, digits and a few signs stand for themselves, and nothing separates."""
    return quote(text, safe="-_.~#!:+@,")
