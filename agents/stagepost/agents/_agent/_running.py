"""A run of an agent in memory."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from time import time
from typing import Any, NamedTuple

from pydantic import SecretStr

from stagepost.hub import Observer
from stagepost.workflows import MemoryRoom, PatternError

from .._delegation._result import AgentResult, with_blobs
from .._loop._loop import AgentLoop
from .._loop._session import Session
from ..errors import InvalidRequest
from ._failure import failure_of


async def run_in_memory(
    loop: AgentLoop,
    opened: AbstractAsyncContextManager[Session],
    request: object,
    *,
    after: AgentResult[object] | None,
    deps: Any,
    secrets: Mapping[str, str | SecretStr] | None,
    observer: Observer | None,
) -> AgentResult[Any]:
    """Run an agent's loop; see `Agent.run`.

    Args:
        loop: The loop.
        opened: Opens what it needs, for as long as it runs.
        request: What the agent is asked.
        after: Goes on where this run has ended.
        deps: Given to tools.
        secrets: Given to tools, and masked.
        observer: Gets the run's events.

    Raises:
        AgentError: What went wrong.
    """
    begin = beginning(loop, request, after)
    async with opened as session:
        return await run_loop(loop, begin, session, deps=deps, secrets=secrets, observer=observer)


class Beginning(NamedTuple):
    """What a run in memory begins with.

    Attributes:
        start: Its initial state.
        blobs: Bytes of its parts, by digest.
    """

    start: Mapping[str, object]
    blobs: dict[str, bytes]


def beginning(loop: AgentLoop, request: object, after: AgentResult[object] | None) -> Beginning:
    """What a run begins with that is asked something.

    Raises:
        InvalidRequest: The agent does not take it.
    """
    if not (after is None or isinstance(after, AgentResult)):
        raise InvalidRequest(loop.name, f"after={after!r:.80} is not an AgentResult: give what an earlier run returned")
    start = loop.accept(request) if after is None else loop.go_on(after.state, request)
    return Beginning(start, {} if after is None else dict(after.blobs))


async def run_loop(
    loop: AgentLoop,
    begin: Beginning,
    session: Session,
    room: MemoryRoom | None = None,
    *,
    deps: Any,
    secrets: Mapping[str, str | SecretStr] | None,
    observer: Observer | None,
) -> AgentResult[Any]:
    """Run an agent's loop to its end.

    Args:
        loop: The loop.
        begin: What it begins with.
        session: What it needs.
        room: Those who listen to it.
        deps: Given to tools.
        secrets: Given to tools, and masked.
        observer: Gets the run's events.

    Raises:
        AgentError: What went wrong.
    """
    start, blobs = begin
    try:
        state = await loop.run(
            start, deps=deps, secrets=secrets, observer=observer, resources=session, blobs=blobs, room=room
        )
    except PatternError as error:
        failure = failure_of(loop.name, error)
    else:
        return with_blobs(loop.result(state, time), blobs)
    raise failure  # here, so that its own cause stays its cause
