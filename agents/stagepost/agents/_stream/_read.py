"""Reading the parts of a run from what is stored of it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from stagepost.checkpoint import RunStatus

from .._delegation._why import own_error
from ..errors import InvalidCursor
from ._cursor import check_of, parse, rendered
from ._part import StreamPart
from ._parts import TaskCancelled, TaskCompleted, TaskFailed
from ._position import Cursor, End
from ._reading import MisplacedPosition, Reading
from ._source import LoopOf, Source
from ._standing import Standing
from ._stored import StoredRun
from ._telling import LONGEST, Telling
from ._tree import Tree

_MOST: Final = 200  # parts


class Batch(NamedTuple):
    """Parts that were read.

    Attributes:
        parts: The numbered parts after the cursor, each with the cursor after it, in the order of commits.
        cursor: What to go on after; None while there is no part.
        known: The same, as it is understood.
        is_over: Whether the last part of the run was told, with these or before.
        has_more: Whether there is more to read at once: a batch has a limited number of parts.
        status: Where the run stands.
        runs: Where the run stands, and those below it that were told of or that no told result covers, by their ids;
            empty while there is more to read.
    """

    parts: Sequence[StreamPart]
    cursor: str | None
    known: Cursor | None
    is_over: bool
    has_more: bool
    status: RunStatus
    runs: Mapping[str, Standing]


async def read(
    source: Source,
    loop_of: LoopOf,
    run_id: str,
    cursor: str | None = None,
    *,
    known: Cursor | None = None,
    mask: Callable[[str], str] | None = None,
    limit: int = _MOST,
    longest: int | None = LONGEST,
) -> Batch:
    """The next parts of a task.

    Args:
        source: Where its runs are.
        loop_of: The loops of their workflows.
        run_id: The task.
        cursor: Go on after this one; None for the start.
        known: The same as it is understood, if it is that of a batch.
        mask: Hides secrets in phrases.
        limit: How many parts at most.
        longest: How many characters of a tool's result; None for all.

    Raises:
        InvalidCursor: The cursor is none of this task.
        RunNotFound: There is no such task.
        LookupError: Nobody knows its workflow.
    """
    if known is None and cursor is not None:
        known = parse(cursor, run_id)
    try:
        tree = await Reading(source, loop_of).root(run_id, None if known is None else known.position)
    except MisplacedPosition as error:
        raise InvalidCursor(str(cursor), str(error)) from None
    return told(tree, known, cursor, mask=mask, limit=limit, longest=longest)


def told(
    tree: Tree,
    known: Cursor | None,
    cursor: str | None = None,
    *,
    mask: Callable[[str], str] | None = None,
    limit: int = _MOST,
    longest: int | None = LONGEST,
) -> Batch:
    """The next parts of a task that was read: a pure function.

    Args:
        tree: What was read of it, from the cursor on.
        known: How much was told; None for nothing.
        cursor: The same as a text.
        mask: Hides secrets in phrases.
        limit: How many parts at most.
        longest: How many characters of a tool's result; None for all.
    """
    info = tree.run.info
    is_ended = not info.status.is_open
    end = End(info.status.value, info.epoch) if is_ended else None
    is_known = end is not None and known is not None and known.end == end
    telling = Telling(tree, info.run_id, mask=mask, longest=longest)
    parts: list[StreamPart] = []
    check, shown = check_of(info.run_id), end if is_known else None
    for kind, fields, position in telling.parts():
        cursor, known = rendered(check, position, shown), Cursor(position, shown)
        parts.append(kind(task_id=info.run_id, cursor=cursor, **fields))
        if len(parts) == limit:
            return Batch(parts, cursor, known, is_over=False, has_more=True, status=info.status, runs={})
    is_over = is_ended and telling.is_whole
    if is_over and not is_known:
        cursor, known = rendered(check, telling.position, end), Cursor(telling.position, end)
        parts.append(_ended(tree.run, cursor, telling.path))
    return Batch(parts, cursor, known, is_over, not telling.is_whole and bool(parts), info.status, telling.runs)


def _ended(run: StoredRun, cursor: str, path: tuple[str, ...]) -> StreamPart:
    """The end of a task."""
    info = run.info
    at: datetime = info.finished_at or run.saved_at
    common: Mapping[str, Any] = {
        "timestamp": at,
        "task_id": info.run_id,
        "cursor": cursor,
        "path": path,
        "visit": str(info.epoch),
    }
    match info.status:
        case RunStatus.COMPLETED:
            return TaskCompleted(**common, result=run.output)
        case RunStatus.CANCELLED:
            return TaskCancelled(**common)
        case _:
            return TaskFailed(**common, error=own_error(info.error or ""))
