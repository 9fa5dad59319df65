"""The result of a run of an agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from math import inf
from typing import Generic, TypeVar

from stagepost._dataclasses import dataclass
from stagepost.workflows import State

from .._models._messages import ChatMessage, ToolMessage, Usage, UserMessage
from ._conversations import Conversation, conversations
from ._state import RunState

OutputT_co = TypeVar("OutputT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class AgentResult(Generic[OutputT_co]):
    """The result of a run of an agent.

    Attributes:
        output: The final answer: a text, or an instance of the agent's ``output=``.
        messages: The transcript from the request to the answer, without the prompt.
        usage: Tokens and US dollars, including other agents that were asked.
        turns: How often the model has answered.
        state: The run's final state, for ``agent.run(…, after=result)``.
        blobs: Bytes of the parts of a run in memory, by digest, for the same purpose; for other runs they are in the
            store.
        clock: Seconds since 1970, by which `conversations` tells whose time is up; None if nobody knows.
        agent: Name of the agent that has answered: the one that was asked, unless it handed over.
    """

    output: OutputT_co
    messages: Sequence[ChatMessage]
    usage: Usage
    turns: int
    state: State = field(repr=False, compare=False)
    blobs: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    clock: Callable[[], float] | None = field(default=None, repr=False, compare=False)
    agent: str = ""

    @property
    def conversations(self) -> Sequence[Conversation]:
        """Those with other agents, with all that was said in them, and whether they have ended by now."""
        now = -inf if self.clock is None else self.clock()
        return conversations(self.messages, RunState(self.state).talks, now)


def with_blobs(result: AgentResult[OutputT_co], blobs: Mapping[str, bytes]) -> AgentResult[OutputT_co]:
    """The result of a run in memory with the bytes of its parts, which no store has."""
    if not blobs:
        return result
    return replace(result, messages=tuple([_filled(message, blobs) for message in result.messages]), blobs=blobs)


def _filled(message: ChatMessage, blobs: Mapping[str, bytes]) -> ChatMessage:
    if not isinstance(message, UserMessage | ToolMessage) or not message.parts:
        return message
    known = [(part, blobs.get(part.digest or "")) for part in message.parts]
    parts = [part if data is None else part.with_data(data) for part, data in known]
    return message.model_copy(update={"parts": tuple(parts)})
