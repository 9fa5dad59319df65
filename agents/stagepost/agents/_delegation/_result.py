"""What a run of an agent has come to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from stagepost.workflows import State

from .._models._messages import ChatMessage, Usage
from ._conversations import Conversation, conversations

OutputT_co = TypeVar("OutputT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class AgentResult(Generic[OutputT_co]):
    """What a run of an agent has come to.

    Attributes:
        output: The final answer: a text, or what the agent has as ``output=``.
        messages: What was said, from the request to the answer; the prompt is not part of it.
        usage: Tokens and US dollars that it has cost, with all that was asked of other agents.
        turns: How often the model has answered.
        state: The run's final state, for ``agent.run(…, after=result)``.
    """

    output: OutputT_co
    messages: Sequence[ChatMessage]
    usage: Usage
    turns: int
    state: State = field(repr=False, compare=False)

    @property
    def conversations(self) -> Sequence[Conversation]:
        """Those with other agents, with all that was said in them."""
        return conversations(self.messages, self.state.get("conversations", {}))
