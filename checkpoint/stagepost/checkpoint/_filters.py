"""Which runs are looked for, and how many of them there are."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias, TypedDict

from ._records import RunStatus

CountBy: TypeAlias = Literal["status", "workflow"]


class RunFilters(TypedDict, total=False):
    """Which runs `CheckpointStore.find` and `CheckpointStore.count` are about: those of which all that is given holds.

    Attributes:
        status: Only those with this status, or one of these.
        workflow: Only those of this workflow.
        key: Only those that were started with this key.
        since: Only those that were started at this time or later.
        until: Only those that were started before this time.
        ended_since: Only those that have ended at this time or later.
        ended_until: Only those that have ended before this time.
        below: Only those whose ids begin with this one and a dot, which steps of that run have started, or steps of
            such runs.
        forked_from: Only those that are forks of this run.
        labels: Only those with all of these labels.
        text: Only those that have failed with an error in whose text each of these words occurs, or a word that begins
            with it, in whatever case. Any text may be given: whatever is neither letter nor digit separates words, and
            words without a space between them have to follow each other. Of a text without a word there is none.
    """

    status: RunStatus | Collection[RunStatus] | None
    workflow: str | None
    key: str | None
    since: datetime | None
    until: datetime | None
    ended_since: datetime | None
    ended_until: datetime | None
    below: str | None
    forked_from: str | None
    labels: Mapping[str, str]
    text: str | None


class Counts(NamedTuple):
    """How many runs there are.

    Attributes:
        total: Of all that were asked for.
        by: Of those, by status (each has an entry) or by the name of the workflow (each that has some), if that was
            asked for, too.
    """

    total: int
    by: Mapping[str, int]
