"""What becomes of waits and effects when a run is migrated: what somebody has sent, or a step has done, is not lost."""

from stagepost.checkpoint import Snapshot, WaitStatus

from .._patterns._pattern import Pattern
from .._plans._places import step_at
from .._plans._plan import Plan
from ..errors import IncompatibleCheckpoint
from ._compatibility import fits, unheeded_in
from ._standing import Standing


def lost_waits(after: Snapshot, plan: Plan) -> tuple[str, ...]:
    """Places of waits that are forgotten: open ones where a migrated run stands no longer, and those of no step.

    Args:
        after: The run as it was migrated, with the waits that it had before.
        plan: What goes on with it.
    """
    standing = Standing(after)
    return tuple(
        wait.place
        for wait in after.waits
        if step_at(plan, wait.place) is None
        or (wait.status is WaitStatus.OPEN and not (wait.place in standing and fits(plan, wait)))
    )


def check_kept(before: Snapshot, workflow: Pattern) -> None:
    """See that a migration loses no answer or signal that no step has heeded yet, and no effect of a step under way.

    Args:
        before: The run as it is stored.
        workflow: The newer version.

    Raises:
        IncompatibleCheckpoint: It would.
    """
    for wait in unheeded_in(before):
        if not fits(workflow.plan, wait):
            raise _loses(before, workflow, f"the {wait.kind.value} {wait.name!r} that it was sent", wait.place)
    standing = Standing(before)
    for effect in before.effects:
        if effect.place in standing and step_at(workflow.plan, effect.place) is None:
            raise _loses(before, workflow, f"what is known of effect {effect.key!r}", effect.place)


def _loses(snapshot: Snapshot, workflow: Pattern, what: str, place: str) -> IncompatibleCheckpoint:
    why = (
        f"its migration to version {workflow.version} would lose {what} at {place!r}: let a process that has version "
        f"{snapshot.run.version} end that step first"
    )
    return IncompatibleCheckpoint(snapshot.run.run_id, snapshot.run.workflow, why, place=place)
