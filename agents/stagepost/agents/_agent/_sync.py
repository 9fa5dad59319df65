"""Runs for code that is not async."""

import asyncio  # noqa: TID251  # anyio does not see a loop in its callbacks
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final, TypeVar

import anyio
import anyio.lowlevel

from ..errors import EventLoopRunning
from ._team import Team

T = TypeVar("T")

_AT_WORK: Final[ContextVar[list[Team] | None]] = ContextVar("stagepost_teams_at_work", default=None)


def run_alone(agent: str, run: Callable[[], Awaitable[T]]) -> T:
    """What a run comes to, in an event loop of its own. What models have opened in it is closed with it.

    Raises:
        EventLoopRunning: There is one in this thread.
    """
    for running in (anyio.lowlevel.current_token, asyncio.get_running_loop):
        try:
            running()
        except RuntimeError:  # there is none
            continue
        raise EventLoopRunning(agent)
    return anyio.run(_released, run)


def note_team(team: Team) -> None:
    """Say that a team works in this event loop."""
    teams = _AT_WORK.get()
    if teams is not None:
        teams.append(team)


async def _released(run: Callable[[], Awaitable[T]]) -> T:
    teams: list[Team] = []
    _AT_WORK.set(teams)
    try:
        return await run()
    finally:
        for team in teams:
            await team.release()
