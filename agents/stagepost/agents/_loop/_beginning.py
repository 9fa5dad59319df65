"""Calls with effects, and whether an earlier process has begun them.

That such a call begins is saved before it is made. If the call is the only one of its answer and nothing stands in
between (no approval, no hook, no used up budget), the commit of the answer records it: the state names the call under
``begun``, and the process that saves it keeps the name in its memory. A process that finds it only in the state does
not know whether the call was made. All other calls begin with a commit of their own.
"""

from typing import Final

from stagepost.workflows import StepContext

from .._delegation._calls import PendingCall
from .._delegation._records import Changes

NOT_BEGUN: Final[Changes] = {}

_BEGUN: Final = "begun"  # in the memo: number of the call that has begun with the last answer


def with_answer(number: str, context: StepContext) -> Changes:
    """The changes to the state that begin an answer's call with its commit; none if the runner is being left."""
    if not context.go_straight_on():
        return NOT_BEGUN
    context.memo[_BEGUN] = number
    return {"begun": number}


async def is_first(entry: PendingCall, context: StepContext) -> bool:
    """Whether nobody has begun a call before; marks it as begun."""
    if not entry.begun:
        return await context.first(call_key(entry))
    return bool(context.memo.pop(_BEGUN, None) == entry.number)


def is_in_doubt(entry: PendingCall, context: StepContext) -> bool:
    """Whether an earlier process has begun a call that this process has not."""
    if not entry.begun:
        return context.has_begun(call_key(entry))
    return bool(context.memo.get(_BEGUN) != entry.number)


async def mark(entry: PendingCall, context: StepContext) -> None:
    """If an earlier process has begun a call with its answer, record that for `StepContext.once`."""
    if entry.begun and is_in_doubt(entry, context):
        await context.first(call_key(entry))


def call_key(entry: PendingCall) -> str:
    """A call's name among the effects of the step that makes it."""
    return f"call-{entry.number}"
