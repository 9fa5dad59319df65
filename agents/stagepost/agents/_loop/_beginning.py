"""Calls that have effects, and whether a process before this one has begun them.

Before such a call is made it is saved that it is. Where an answer wants this one call and nothing stands between the
two (no person to ask, no hook, no budget that is used up), the commit of the answer says so: the state names the call
under `BEGUN`, and the process that saves it keeps the name in its memory. Whoever finds it in the state only does not
know whether the call was made. All other calls are begun by a commit of their own.
"""

from collections.abc import Mapping
from typing import Final

from stagepost.workflows import StepContext

from .._delegation._messaging import Entry

BEGUN: Final = "begun"  # in the state and in the memo: number of the call that counts as begun since the last answer

NOT_BEGUN: Final[Mapping[str, object]] = {}


def with_answer(number: str, context: StepContext) -> Mapping[str, object]:
    """What an answer changes in the state so that its call has begun with it; nothing if the runner is being left."""
    if not context.go_straight_on():
        return NOT_BEGUN
    context.memo[BEGUN] = number
    return {BEGUN: number}


async def is_first(entry: Entry, context: StepContext) -> bool:
    """Whether nobody has begun a call before; from now on, somebody has."""
    if not _is_with_answer(entry):
        return await context.first(call_key(entry))
    return bool(context.memo.pop(BEGUN, None) == entry["number"])


def is_in_doubt(entry: Entry, context: StepContext) -> bool:
    """Whether a process before this one has begun a call that is not made here."""
    if not _is_with_answer(entry):
        return context.has_begun(call_key(entry))
    return bool(context.memo.get(BEGUN) != entry["number"])


async def mark(entry: Entry, context: StepContext) -> None:
    """Where a call has begun with its answer before this process: say so where `StepContext.once` looks."""
    if _is_with_answer(entry) and is_in_doubt(entry, context):
        await context.first(call_key(entry))


def call_key(entry: Entry) -> str:
    """A call's name among the effects of the step that makes it."""
    return f"call-{entry['number']}"


def _is_with_answer(entry: Entry) -> bool:
    return bool(entry.get(BEGUN))
