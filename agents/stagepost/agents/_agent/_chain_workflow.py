"""A chain of agents as a workflow: each agent's work is a run of its own below the run of the chain."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

from stagepost._dataclasses import dataclass
from stagepost.workflows import Chain, ChildFailed, State, Step, StepContext, step

from .._delegation._result import AgentResult
from .._loop._loop import AgentLoop
from ..errors import AgentError, ChainedFailure

AgentT = TypeVar("AgentT")

_LONGEST: Final = 60  # characters of a name in a key
_OUTPUT: Final = "output-"  # in the state: before the number of the agent that has answered so


@dataclass(frozen=True, slots=True)
class Link(Generic[AgentT]):
    """One agent of a chain.

    Attributes:
        agent: The agent.
        request: Makes its request of what the agent before has answered; None to hand that on as it is.
    """

    agent: AgentT
    request: Callable[[Any], object] | None = None

    def request_for(self, answer: object) -> object:
        """What it is asked, after an answer."""
        return answer if self.request is None else self.request(answer)


class ChainWorkflow(Chain):
    """The workflow that does the work of a chain of agents.

    Its state holds what the first agent's run starts with, and each answer as ``output-0``, ``output-1`` and so on.

    Args:
        name: The chain's name.
        links: Its agents.
    """

    def __init__(self, name: str, links: Sequence[Link[Any]]) -> None:
        self._links = tuple(links)
        self._loops: Sequence[AgentLoop] = tuple(link.agent.as_workflow() for link in links)
        first = self._loops[0]
        codecs = {f"{_OUTPUT}{index}": loop.types.get("output") for index, loop in enumerate(self._loops)}
        starts = {key: codec for key, codec in first.types.items() if key != "output"}
        types = {**starts, **{key: codec for key, codec in codecs.items() if codec is not None}}
        steps = [self._step(index) for index in range(len(self._links))]
        super().__init__(name, steps, types=types, companions=self._loops)

    def accept(self, payload: object) -> Mapping[str, object]:
        """What a run starts with: that which the run of the first agent starts with.

        Raises:
            InvalidRequest: It is not what the first agent takes.
        """
        return self._loops[0].accept(payload)

    def reply(self, state: State) -> object:
        """The answer of the last agent."""
        return state[f"{_OUTPUT}{len(self._loops) - 1}"]

    def _step(self, index: int) -> Step:
        async def ask(state: State, context: StepContext) -> dict[str, object]:
            return {f"{_OUTPUT}{index}": await self._answer(index, state, context)}

        return step(self._key(index), ask)

    def _key(self, index: int) -> str:
        return f"{index}-{self._links[index].agent.name[:_LONGEST]}"

    async def _answer(self, index: int, state: State, context: StepContext) -> object:
        """What an agent answers, asked once."""
        loop = self._loops[index]
        try:
            done = await context.child(loop, self._key(index), partial(self._start, index, state))
        except (AgentError, ChildFailed) as error:
            names = [link.agent.name for link in self._links]
            raise ChainedFailure(self.name, names, await self._upstream(index, context), error) from error
        return loop.reply(done)

    def _start(self, index: int, state: State) -> Mapping[str, object]:
        """What an agent's run starts with."""
        if index == 0:
            return {key: value for key, value in state.items() if not key.startswith(_OUTPUT)}
        return self._loops[index].accept(self._links[index].request_for(state[f"{_OUTPUT}{index - 1}"]))

    async def _upstream(self, index: int, context: StepContext) -> Sequence[AgentResult[Any]]:
        """What the agents before one have come to."""
        states = [await context.child_state(self._key(before)) for before in range(index)]
        return [loop.result(state) for loop, state in zip(self._loops, states, strict=False) if state is not None]
