"""What a branch is about to save of a step."""

from typing import NamedTuple

from stagepost.checkpoint import Attachments, Happening, Joined, Statement

from .._values._state import Values


class Written(NamedTuple):
    """What a step has changed.

    Attributes:
        updates: What is other than before.
        own: All that the branch has written then.
        joined: Items that are no longer needed.
        blobs: Bytes beside it.
        also: What is written to tables of the application.
        is_flat: Whether all of it stands in the frame, and has before.
        said: What the commit says for the history, if that is known already.
    """

    updates: Values
    own: Values
    joined: Joined | None
    blobs: Attachments | None
    also: tuple[Statement, ...]
    is_flat: bool
    said: tuple[Happening, ...] | None = None
