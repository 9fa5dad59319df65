"""The calls of the last answer, and which of them may run at once."""

from collections.abc import Sequence
from itertools import chain

from .._delegation._calls import Lane, PendingCall, call_number
from .._delegation._handoff import checked, handoffs_of
from .._delegation._messaging import lanes
from .._delegation._state import RunState
from .._models._messages import AssistantMessage, ToolCall
from .._tools._tool import Tool
from ._member import Member


class PendingCalls:
    """Derives the pending calls from a state, so that nothing is stored twice.

    Args:
        member: The agent.
        messages: The tool with which it talks to other agents; None if there are none.

    Attributes:
        is_timed: Whether pending calls depend on when the model answered.
    """

    def __init__(self, member: Member, messages: Tool[..., object] | None) -> None:
        self._is_alone = member.is_alone
        self._holder = member.holder
        self._handoffs = handoffs_of(member.agent)
        self._messages = messages
        self.is_timed = messages is not None

    def at_once(self, state: RunState, answer: AssistantMessage, now: float) -> int:
        """How many calls of an answer given now may run at once."""
        if self._is_alone:
            return len(answer.calls)
        turn = state.turn if answer.is_answer else state.turn - 1
        pending = self._pending(answer.calls, turn, state.root, before=answer.calls_before or 0)
        return len(self._lanes(state, pending, now))

    def of_last(self, state: RunState) -> Sequence[Lane]:
        """The calls of the last answer, grouped by what may run at once."""
        if self._is_alone:
            return [(call,) for call in self._of(state, state.last_calls)]
        return self._lanes(state, self._of(state, state.last_calls), state.answered_at)

    def in_turn(self, state: RunState, calls: Sequence[ToolCall]) -> Sequence[PendingCall]:
        """The same as a sequence of calls.

        Args:
            state: The state.
            calls: The calls of the last answer.
        """
        pending = self._of(state, calls)
        return pending if self._is_alone else list(chain.from_iterable(self._lanes(state, pending, state.answered_at)))

    def _of(self, state: RunState, calls: Sequence[ToolCall]) -> Sequence[PendingCall]:
        root = None if self._is_alone else state.root
        pending = self._pending(calls, state.turn - 1, root, before=state.calls_before)
        if not self._handoffs:
            return pending
        return checked(pending, self._handoffs, 0 if state.handed is None else state.handed.times)

    def _lanes(self, state: RunState, pending: Sequence[PendingCall], now: float) -> Sequence[Lane]:
        talks = {key: talk for key, talk in state.talks.items() if talk.by == self._holder}
        return lanes(pending, talks, self._messages, now=now)

    def _pending(self, calls: Sequence[ToolCall], turn: int, root: str | None, *, before: int) -> Sequence[PendingCall]:
        return [
            PendingCall(
                call_number(turn, before + index), index, call.id, call.name, call.arguments, root, holder=self._holder
            )
            for index, call in enumerate(calls)
        ]
