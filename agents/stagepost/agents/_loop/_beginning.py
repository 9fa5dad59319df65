"""Calls that have effects, and whether a process before this one has begun them.

Before such a call is made it is saved that it is. Where an answer wants this one call and nothing stands between the
two (no person to ask, no hook, no budget that is used up), the commit of the answer says so: the state names the call
under ``begun``, and the process that saves it keeps the name in its memory. Whoever finds it in the state only does not
know whether the call was made. All other calls are begun by a commit of their own.
"""

from typing import Final

from stagepost.workflows import StepContext

from .._delegation._calls import PendingCall
from .._delegation._state import Changes

NOT_BEGUN: Final[Changes] = {}

_BEGUN: Final = "begun"  # in the memo: number of the call that counts as begun since the last answer


def with_answer(number: str, context: StepContext) -> Changes:
    """What an answer changes in the state so that its call has begun with it; nothing if the runner is being left."""
    if not context.go_straight_on():
        return NOT_BEGUN
    context.memo[_BEGUN] = number
    return {"begun": number}


async def is_first(entry: PendingCall, context: StepContext) -> bool:
    """Whether nobody has begun a call before; from now on, somebody has."""
    if not entry.begun:
        return await context.first(call_key(entry))
    return bool(context.memo.pop(_BEGUN, None) == entry.number)


def is_in_doubt(entry: PendingCall, context: StepContext) -> bool:
    """Whether a process before this one has begun a call that is not made here."""
    if not entry.begun:
        return context.has_begun(call_key(entry))
    return bool(context.memo.get(_BEGUN) != entry.number)


async def mark(entry: PendingCall, context: StepContext) -> None:
    """Where a call has begun with its answer before this process: say so where `StepContext.once` looks."""
    if entry.begun and is_in_doubt(entry, context):
        await context.first(call_key(entry))


def call_key(entry: PendingCall) -> str:
    """A call's name among the effects of the step that makes it."""
    return f"call-{entry.number}"
