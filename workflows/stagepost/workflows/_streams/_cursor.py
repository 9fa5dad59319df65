"""How far a reader of a run's stream has got."""

import re
from typing import Final, NamedTuple

from stagepost.checkpoint import Snapshot

from ..errors import CursorRefused

_FORM: Final = re.compile(r"([0-9]{1,18})(?:!([0-9]{1,18}))?")


class Cursor(NamedTuple):
    """What a reader knows of a run.

    Attributes:
        seq: Number of the last commit of its root frame that the reader knows of.
        ended: By which claim of the run (`RunInfo.epoch`) it had ended, if the reader was told of an end.
    """

    seq: int
    ended: int | None = None

    def __str__(self) -> str:
        return str(self.seq) if self.ended is None else f"{self.seq}!{self.ended}"


def read_cursor(run_id: str, text: object) -> Cursor:
    """A cursor from its text.

    Args:
        run_id: The run.
        text: What somebody has given.

    Raises:
        CursorRefused: It is none of a run's stream.
    """
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise CursorRefused(run_id, str(text), "it is no cursor of a run's stream")
    return Cursor(int(found[1]), None if found[2] is None else int(found[2]))


def check_cursor(snapshot: Snapshot, cursor: Cursor) -> None:
    """See that a run has got as far as a reader says.

    Raises:
        CursorRefused: It has not.
    """
    if cursor.seq > snapshot.root.seq:
        last = f"the last commit of the run is number {snapshot.root.seq}"
        raise CursorRefused(snapshot.run.run_id, str(cursor), last)
