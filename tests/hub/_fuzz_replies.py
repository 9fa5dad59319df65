"""What the callers of a program check of the replies that they get."""

from typing import TYPE_CHECKING

from tests.hub._fuzz_deeds import is_own
from tests.hub._fuzz_program import Call

from stagepost.hub import HandlerFailed, Replies, ReplyStream

if TYPE_CHECKING:
    from tests.hub._fuzz_world import Record, World


async def read(world: "World", stream: ReplyStream[object], call: Call, record: "Record") -> None:
    """Read a reply in parts, perhaps not all of them."""
    number = 0
    async for part in stream:
        number += 1
        if world.root(part) != record.serial:
            world.surprise(f"a reader got the part of another: {part!r}")
        if number == call.enough:
            record.left = True
            return


def check_replies(world: "World", replies: Replies[object], call: Call, record: "Record") -> None:
    """Each agent is named once, with a reply or with an error that somebody raised, and one of each group."""
    everyone = [*replies.received, *replies.failures, *replies.unanswered]
    if len(set(everyone)) < len(everyone) or record.sender in everyone:
        world.surprise(f"of many agents some were named twice, or the sender was: {replies}")
    if world.program.keeps_groups and (crowd := world.program.crowded(everyone)):
        world.surprise(f"of the group {crowd} more than one was asked: {replies}")
    for error in replies.failures.values():
        if isinstance(error, HandlerFailed) and not is_own(error.cause, world.program.words):
            world.surprise("a requester of many saw an error that no handler raised", error.cause)
    if any(world.root(reply) != record.serial for reply in replies.received.values()):
        world.surprise(f"a request to many got the reply of another: {replies}")
    if replies.unanswered and call.timeout is None and len(replies.received) < (call.enough or 9):
        _may_be_late(world, record, replies)


def _may_be_late(world: "World", record: "Record", replies: Replies[object]) -> None:
    """Without a limit of its own, a request ends early only by the deadline of the one being handled."""
    if record.outside or record.sender is None:
        world.surprise(f"a request to many without a limit was not waited for: {replies}")
