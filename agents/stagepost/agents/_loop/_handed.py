"""What an agent sees of the transcript of a run that was handed over to it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stagepost.hub import describe_error

from .._delegation._handoff import handoffs_of
from .._delegation._records import Handed
from .._delegation._state import GO_ON, RunState
from .._models._messages import AssistantMessage, ChatMessage, SystemMessage, ToolMessage, UserMessage
from ..errors import HandoffFailed, UnknownAgent
from ._member import Member

_KINDS: Final = (UserMessage, AssistantMessage, ToolMessage)


class Heard(NamedTuple):
    """What an agent sees of the transcript of a run.

    Attributes:
        said: The messages.
        request: Where the one stands among them that the run is to answer; 0 if it is not among them.
    """

    said: Sequence[ChatMessage]
    request: int


class Transcript:
    """What was said in a run, as the agent that has it sees it.

    Args:
        members: The agents that may have it.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self._names = tuple(member.agent.name for member in members)
        self._write_programs = any(member.agent.programs is not None for member in members)
        self._filters = {
            (member.agent.name, tool.name): tool.filter
            for member in members
            for tool in handoffs_of(member.agent).values()
            if tool.filter is not None
        }

    def of(self, state: RunState) -> Sequence[ChatMessage]:
        """What the agent sees: all of it, unless the handoff has a filter, or programs have made calls.

        Raises:
            UnknownAgent: The agent that has the run is none of the members any more.
            HandoffFailed: The filter has raised, or returned no messages.
        """
        said = self._said(state)
        return without_programs(said) if self._write_programs else said

    def _said(self, state: RunState) -> Sequence[ChatMessage]:
        """The same with the calls of programs."""
        handed = state.handed
        if handed is None:
            return state.messages
        if handed.agent not in self._names:
            raise UnknownAgent(handed.agent, self._names)
        filtering = self._filters.get((handed.by, handed.tool))
        if filtering is None:
            return state.messages
        before, after = state.messages[: handed.at], state.messages[handed.at :]
        try:
            shown = tuple(filtering(before))
        except Exception as error:
            raise HandoffFailed(handed.tool, describe_error(error)) from error
        return (*_valid(shown, before, handed), *after)

    def heard(self, state: RunState) -> Heard:
        """The same, with the place of the request; raises as `of` does."""
        said, request = self._request(state)
        if not self._write_programs:
            return Heard(said, request)
        return Heard(without_programs(said), len(without_programs(said[: request + 1])) - 1)

    def _request(self, state: RunState) -> tuple[Sequence[ChatMessage], int]:
        """What the agent sees with the calls of programs, and where the request stands there."""
        said, request, handed = self._said(state), state.view.request, state.handed
        if handed is None or said is state.messages:
            return said, request
        before = len(said) - (len(state.messages) - handed.at)
        if request >= handed.at:
            return said, request - handed.at + before
        asked = state.messages[request]
        return said, max((place for place in range(before) if said[place] == asked), default=0)


def without_programs(said: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """Messages without the calls that programs have made, and their results: models see what programs print."""
    kept: list[ChatMessage] = []
    is_hidden = False
    for message in said:
        if isinstance(message, AssistantMessage):
            is_hidden = not message.is_answer
        elif not isinstance(message, ToolMessage):
            is_hidden = False
        if not is_hidden:
            kept.append(message)
    return kept


def _valid(shown: Sequence[ChatMessage], before: Sequence[ChatMessage], handed: Handed) -> Sequence[ChatMessage]:
    """What a filter returned, as every provider takes it.

    Calls have their results, a request is at the beginning, and an answer to which nobody has said anything not at the
    end: several providers refuse that.
    """
    for message in shown:
        if not isinstance(message, _KINDS) or isinstance(message, SystemMessage):
            raise HandoffFailed(handed.tool, f"it has returned {message!r:.80}, which is no message of a transcript")
    paired = _paired(shown)
    if not paired or not isinstance(paired[0], UserMessage):
        paired = (*(message for message in before[:1] if isinstance(message, UserMessage)), *paired)
    return (*paired, GO_ON) if isinstance(paired[-1], AssistantMessage) else paired


def _paired(shown: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """Messages without calls that have no result, and without results that have no call."""
    kept: list[ChatMessage] = []
    for index, message in enumerate(shown):
        if isinstance(message, AssistantMessage) and message.calls:
            kept += _answered(message, shown[index + 1 :])
        elif not isinstance(message, ToolMessage):
            kept.append(message)
    return tuple(kept)


def _answered(message: AssistantMessage, later: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """An answer and the results of its calls, which follow it."""
    results: dict[str, ToolMessage] = {}
    for each in later:
        if not isinstance(each, ToolMessage):
            break
        results[each.call_id] = each
    calls = tuple([call for call in message.calls if call.id in results])
    if len(calls) == len(message.calls):
        return (message, *(results[call.id] for call in calls))
    if not calls and not message.text:
        return ()
    return (AssistantMessage(text=message.text, calls=calls), *(results[call.id] for call in calls))
