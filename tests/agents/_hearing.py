"""What those who listen to an agent's run are told, in memory and in a store."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pytest
from anyio import fail_after
from tests.agents._ways import loop_of, working

from stagepost.agents import Agent
from stagepost.agents._live._told import Piece, ProgressMade, TurnBegun
from stagepost.workflows import Listening, MemoryRoom, Told

Hear: TypeAlias = Callable[..., Awaitable[list[Told]]]


async def hear_in_memory(
    agent: Agent[Any], request: object = "go", secrets: Mapping[str, str] | None = None
) -> list[Told]:
    """All that is told of a run in memory."""
    loop, room = loop_of(agent), MemoryRoom()
    with fail_after(10), room.listen(buffer=10_000) as listening:
        await loop.run(loop.accept(request), room=room, secrets=secrets)
        return await rest(listening)


async def hear_durably(
    agent: Agent[Any], request: object = "go", secrets: Mapping[str, str] | None = None
) -> list[Told]:
    """All that is told of a run in a store."""
    async with working(agent, secrets=secrets) as runner:
        with runner.listen("r", buffer=10_000) as listening:
            loop = loop_of(agent)
            await (await runner.start(loop, loop.accept(request), run_id="r")).result()
            return await rest(listening)


both_hear = pytest.mark.parametrize("hear", [hear_in_memory, hear_durably])


async def rest(listening: Listening) -> list[Told]:
    """What was told up to now."""
    told: list[Told] = []
    while not listening.buffer.is_empty:
        told += (await listening.next()).told
    return told


def pieces(told: Sequence[Told], **of: object) -> list[Piece]:
    """The pieces of answers; of these those that have certain attributes."""
    found = [each.what for each in told if isinstance(each.what, Piece)]
    return [piece for piece in found if all(getattr(piece, name) == value for name, value in of.items())]


def texts(told: Sequence[Told], **of: object) -> list[str]:
    """What is left of what was told of the texts of turns, in order, once all that is void is left out."""
    found: list[str] = []
    for piece in pieces(told, **{"kind": "text", **of}):
        if piece.number == 0:
            found.append("")
        found[-1] += piece.text
    return found


def turns(told: Sequence[Told]) -> list[tuple[str, int]]:
    """Which agents have begun which turns."""
    return [(each.what.agent, each.what.turn) for each in told if isinstance(each.what, TurnBegun)]


def progress(told: Sequence[Told]) -> list[ProgressMade]:
    """The progress of calls."""
    return [each.what for each in told if isinstance(each.what, ProgressMade)]
