"""Which calls the last answer wants, and which of them may be made at once."""

from collections.abc import Sequence

from .._delegation._calls import Lane, PendingCall, call_number
from .._delegation._messaging import lanes
from .._delegation._state import RunState
from .._models._messages import AssistantMessage, ToolCall
from .._tools._tool import Tool
from ._member import Member


class Due:
    """Works out from a state what is to be called, so that nothing of it is stored twice.

    Args:
        member: The agent.
        messages: The tool by which it speaks to other agents; None if there are none.

    Attributes:
        is_timed: Whether what is due depends on when the model has answered.
    """

    def __init__(self, member: Member, messages: Tool[..., object] | None) -> None:
        self._is_alone = member.is_alone
        self._messages = messages
        self.is_timed = messages is not None

    def at_once(self, state: RunState, answer: AssistantMessage, now: float) -> int:
        """How many of the calls that an answer of this moment wants may go on at once."""
        if self._is_alone:
            return len(answer.calls)
        return len(self._lanes(state, answer.calls, state.turn, now))

    def of_last(self, state: RunState) -> Sequence[Lane]:
        """What the last answer wants to be called, by what may go on at once."""
        return self._lanes(state, state.last_calls, state.turn - 1, state.answered_at)

    def _lanes(self, state: RunState, calls: Sequence[ToolCall], turn: int, now: float) -> Sequence[Lane]:
        root = state.root
        pending = [
            PendingCall(call_number(turn, index), index, call.id, call.name, call.arguments, root)
            for index, call in enumerate(calls)
        ]
        if self._is_alone:
            return [(call,) for call in pending]
        return lanes(pending, state.talks, self._messages, now=now)
