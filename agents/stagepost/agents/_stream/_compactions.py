"""What models no longer see, from what they saw before: parts without a number."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from .._context._view import View
from ._parts import Compacted
from ._telling import Viewed


def compactions(
    before: Mapping[str, Viewed], after: Mapping[str, Viewed], *, task_id: str, at: datetime
) -> Sequence[Compacted]:
    """What the models of a task see less of than when it was read before.

    Args:
        before: What they saw then, by the ids of their runs; nothing is told of a run that is not among these.
        after: What they see now.
        task_id: The task.
        at: The time.
    """
    return [
        Compacted(
            timestamp=at,
            task_id=task_id,
            path=path,
            visit=run_id[len(task_id) + 1 :],
            hidden=view.count,
            shortened=_shortened(view),
            summary=view.summary,
        )
        for run_id, (path, view) in after.items()
        if run_id in before and _is_less(before[run_id][1], view)
    ]


def _is_less(before: View, after: View) -> bool:
    """Whether a model sees less; after a handoff another one may see more again."""
    if _shortened(after) > _shortened(before) or after.count > before.count:
        return True
    return bool(after.summary) and after.summary != before.summary


def _shortened(view: View) -> int:
    """Of how many messages the model sees only a part."""
    return len({place for start, stop, _ in view.shrunk for place in range(start, stop)})
