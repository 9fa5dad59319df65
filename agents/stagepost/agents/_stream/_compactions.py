"""What models no longer see, from what they saw before: parts without a number."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from .._context._view import View
from ._parts import Compacted
from ._standing import Standing


def compactions(
    before: Mapping[str, Standing], after: Mapping[str, Standing], *, task_id: str, at: datetime
) -> Sequence[Compacted]:
    """What the models of a task see less of than when it was read before.

    Args:
        before: Where they stood then, by the ids of their runs; nothing is told of a run that is not among these.
        after: Where they stand now.
        task_id: The task.
        at: The time.
    """
    return [
        Compacted(
            timestamp=at,
            task_id=task_id,
            path=now.path,
            visit=run_id[len(task_id) + 1 :],
            hidden=now.view.count,
            shortened=_shortened(now.view),
            summary=now.view.summary,
        )
        for run_id, now in after.items()
        if run_id in before and _is_less(before[run_id].view, now.view)
    ]


def _is_less(before: View, after: View) -> bool:
    """Whether a model sees less; after a handoff another one may see more again."""
    if _shortened(after) > _shortened(before) or after.count > before.count:
        return True
    return bool(after.summary) and after.summary != before.summary


def _shortened(view: View) -> int:
    """Of how many messages the model sees only a part."""
    return len({place for start, stop, _ in view.shrunk for place in range(start, stop)})
