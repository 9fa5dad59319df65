"""Asking an agent from within a step of a workflow, with a time limit."""

from functools import partial
from hashlib import sha256
from typing import Any, Final, Generic, TypeVar, overload

import anyio

from stagepost._dataclasses import dataclass
from stagepost.workflows import Ask, StepContext

from .._agent._agent import Agent
from .._models._messages import Usage

OutputT = TypeVar("OutputT")
OutputT_co = TypeVar("OutputT_co", covariant=True)

_UNCOUNTED: Final = Usage()
_DIGEST: Final = 12  # characters of the place's digest in a child's key


class TookTooLong(TimeoutError):
    """An agent has not answered within its time.

    Attributes:
        agent: Its name.
        seconds: How long it was given.
    """

    def __init__(self, agent: str, seconds: float) -> None:
        super().__init__(f"agent {agent!r} has not answered within {seconds:.3g} s")
        self.agent = agent
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Consulted(Generic[OutputT_co]):
    """What an agent has answered in a step.

    Attributes:
        output: The answer.
        turns: How often its model was asked; 1 for an agent on the hub, of which nobody knows.
        usage: Tokens and cost, of agents below it, too; nothing for an agent on the hub.
    """

    output: OutputT_co
    turns: int = 1
    usage: Usage = _UNCOUNTED


@overload
async def consult(
    agent: Agent[OutputT], request: object, context: StepContext, *, key: str = ..., seconds: float | None = ...
) -> Consulted[OutputT]: ...
@overload
async def consult(
    agent: str, request: object, context: StepContext, *, key: str = ..., seconds: float | None = ...
) -> Consulted[Any]: ...
@overload
async def consult(
    agent: Agent[OutputT] | str,
    request: object,
    context: StepContext,
    *,
    key: str = ...,
    seconds: float | None = ...,
    expect: type[OutputT],
) -> Consulted[OutputT]: ...
async def consult(
    agent: Agent[Any] | str,
    request: object,
    context: StepContext,
    *,
    key: str = "ask",
    seconds: float | None = None,
    expect: type[Any] | None = None,
) -> Consulted[Any]:
    """Ask an agent in a step, so that a crash repeats no answer that was committed.

    An `Agent` works in a child run of the step's run. Name it in ``companions=`` of the workflow. When its time is up,
    that run is cancelled. A name stands for an agent on the hub: where a runner serves it, its work is a run of its
    own, which a step that runs again joins, and which ends by itself if nobody waits any longer.

    Time in which the agent waits for a person does not count: its run is parked then, and so is the step's.

    Args:
        agent: The agent, or its name on the hub.
        request: What it is asked.
        context: That of the step.
        key: What the question is called, if the step asks several agents. A step asks one agent on the hub at most.
        seconds: How long the agent has; None for no limit.
        expect: Type of the answer, for an agent on the hub.

    Raises:
        TookTooLong: The time is up.
        ChildFailed: The agent's run has failed.
        HubError: The hub knows no such agent, or its handler has failed.
    """
    name = agent if isinstance(agent, str) else agent.name
    if seconds is not None and seconds <= 0:
        raise TookTooLong(name, 0)
    with anyio.move_on_after(seconds):
        if isinstance(agent, str):
            return Consulted(await Ask(agent, _unchanged, expect=expect).call(request, context))
        return await _asked_as_child(agent, request, context, key)
    if not isinstance(agent, str):
        await context.cancel_child(agent, _child_key(key, context))
    raise TookTooLong(name, seconds or 0)


async def _asked_as_child(agent: Agent[Any], request: object, context: StepContext, key: str) -> Consulted[Any]:
    loop: Any = agent.as_workflow()
    done = await context.child(loop, _child_key(key, context), partial(loop.accept, request))
    spent = loop.total(done)
    return Consulted(loop.reply(done), spent.turns, spent.usage)


def _child_key(key: str, context: StepContext) -> str:
    """The same whenever this step, visit and item runs, and another for each of these."""
    return f"{key}-{sha256(context.place.encode()).hexdigest()[:_DIGEST]}"


def _unchanged(request: Any) -> Any:
    return request
