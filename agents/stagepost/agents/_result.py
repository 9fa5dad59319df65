"""What a run of an agent has come to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ._messages import ChatMessage, Usage

OutputT_co = TypeVar("OutputT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class AgentResult(Generic[OutputT_co]):
    """What a run of an agent has come to.

    Attributes:
        output: The final answer: a text, or what the agent has as ``output=``.
        messages: What was said, from the request to the answer; the prompt is not part of it.
        usage: Tokens that it has cost.
        turns: How often the model has answered.
    """

    output: OutputT_co
    messages: Sequence[ChatMessage]
    usage: Usage
    turns: int
