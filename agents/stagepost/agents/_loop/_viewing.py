"""What the model of an agent sees of a run, turn by turn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stagepost.hub import get_logger
from stagepost.workflows import StepContext

from .._context._compacting import Compacting
from .._context._counting import BYTES, Tally, estimate, estimate_tools
from .._context._excerpt import READ_RESULT_SCHEMA
from .._context._shown import Shown
from .._delegation._records import Changes
from .._delegation._state import RunState
from .._models._around import count_tokens, model_window
from .._models._messages import AssistantMessage, ChatMessage, SystemMessage, Usage, UserMessage
from .._models._model import ToolSchema
from ..errors import ContextTooLong
from ._handed import Heard
from ._member import Member

_SIGHT: Final = "sight"  # where a run keeps what its model sees, while a process works on it
_NEAR: Final = 2  # what a provider has counted is stored once it is a part of the limit of one in so many
_OF_WINDOW: Final = 0.8  # of what a model can read, so that the answer has room


class Sight:
    """What a model sees of one run, kept while a process works on it, so that a turn only looks at what is new.

    Args:
        member: The agent.
        state: The run's state.

    Attributes:
        member: The agent.
        shown: The messages that the model sees, and the view that they are made by.
        needs_count: Whether there is a limit to what the model sees, so that it has to be known how much that is.
    """

    def __init__(self, member: Member, state: RunState) -> None:
        self.member = member
        self._policy = member.context
        self._tally = Tally()
        self._stored = state.view
        self._transcript: Sequence[ChatMessage] = ()
        self._request = 0
        self._extra = 0
        self._limit: int | None = None
        self._stored_read = self._read = 0
        self.shown = Shown(state.view, self._policy.result_limit)
        self.needs_count = False

    @property
    def changes(self) -> Changes:
        """What has to be stored: the view, and what the provider has counted, where that has changed and matters."""
        view = self.shown.view
        changes: Changes = {} if view is self._stored or view == self._stored else {"view": view}
        if self._read != self._stored_read:
            changes["read"] = self._read
        return changes

    def look(self, state: RunState, heard: Heard, news: Sequence[UserMessage]) -> None:
        """Take in what has been added to the transcript.

        Args:
            state: The run's state.
            heard: What was said, as the agent sees it.
            news: What is said to the run in this turn.
        """
        policy, view = self._policy, state.view
        if self.shown.view is not view and self.shown.view != view:
            self.shown = Shown(view, policy.result_limit)
            self._tally.begin()
        self._stored, (self._transcript, self._request) = view, heard
        self._extra = sum(map(estimate, news)) if news else 0
        self.shown.grow(self._transcript)
        self._limit = policy.limit or self._of_window()
        self.needs_count = bool(policy.compact) and (self._limit is not None or policy.messages is not None)
        if self._limit is not None:
            self._stored_read = state.read

    async def make_room(self, beside: int) -> None:
        """Leave out what is too much, as the policy says; if a summary is due then, nothing was left out yet.

        Args:
            beside: The estimate for the prompt and the tools.
        """
        tally, limit = self._tally, self._limit
        tally.beside = beside
        compacting = self._compacting()
        if self._stored_read and not tally.is_counted:
            tally.counted_before(self._stored_read, self._answered)
        if self.shown.view.tries:
            return
        if limit is not None and not tally.is_counted and compacting.total * BYTES > limit:
            await self._count()
        if not compacting.is_within(limit, self._policy.messages):
            before = compacting.total
            compacting.make_room(limit)
            self._take(compacting, before)

    def after_refusal(self, error: ContextTooLong) -> None:
        """Leave out more, after the provider has said that the prompt is too long.

        Raises:
            ContextTooLong: There is nothing left that may be left out.
        """
        compacting = self._compacting()
        before = compacting.total
        if compacting.after_refusal(self._limit) is None:
            raise error.final(may_compact=bool(self._policy.compact)) from error
        self._take(compacting, before)

    def answered(self, usage: Usage) -> None:
        """Take in how many tokens the provider has counted."""
        if self._limit is not None:
            self._tally.take(self.shown.messages)
            self._tally.counted(usage.input_tokens, self._extra)
            self._read = usage.input_tokens if usage.input_tokens * _NEAR >= self._limit else 0
        if self.shown.view.tries:
            self.shown.view = replace(self.shown.view, tries=0)

    @property
    def _answered(self) -> int:
        """How many of the messages the model was asked with before its last answer."""
        said = self.shown.messages
        return next((index for index in range(len(said) - 1, -1, -1) if isinstance(said[index], AssistantMessage)), 0)

    def _of_window(self) -> int | None:
        window = model_window(self.member.model)
        return None if window is None else int(window * _OF_WINDOW)

    def _compacting(self) -> Compacting:
        name, policy = self.member.agent.name, self._policy
        return Compacting(
            name, policy, self._transcript, self.shown, self._tally, request=self._request, extra=self._extra
        )

    async def _count(self) -> None:
        """Have the model's tokenizer count what there is, if it has one."""
        text = "\n".join(text for message in self.shown.messages for text in _texts(message))
        tokens = await count_tokens(self.member.model, text)
        if tokens:
            self._tally.counted(tokens + self._tally.beside)

    def _take(self, compacting: Compacting, before: int) -> None:
        self.shown = compacting.shown
        get_logger("agents").info(
            "context_compacted",
            agent=self.member.agent.name,
            tokens_before=before,
            tokens=compacting.total,
            hidden=self.shown.view.count,
            summary_due=self.shown.view.due is not None,
        )


class Viewing:
    """Finds what the model of an agent sees of a run.

    Args:
        member: The agent.
    """

    def __init__(self, member: Member) -> None:
        self._member = member
        self._sized: tuple[Sequence[ToolSchema], int] = ((), 0)
        self._extended: tuple[Sequence[ToolSchema], Sequence[ToolSchema]] = ((), (READ_RESULT_SCHEMA,))

    def look(self, state: RunState, heard: Heard, context: StepContext, news: Sequence[UserMessage]) -> Sight:
        """What the model sees now.

        Args:
            state: The run's state.
            heard: What was said, as the agent sees it.
            context: The step that asks.
            news: What is said to the run in this turn.
        """
        sight = context.memo.get(_SIGHT)
        if not isinstance(sight, Sight) or sight.member is not self._member:  # it was another agent's until now
            sight = context.memo[_SIGHT] = Sight(self._member, state)
        sight.look(state, heard, news)
        return sight

    def with_reading(self, tools: Sequence[ToolSchema]) -> Sequence[ToolSchema]:
        """Tools, with the one that reads on in results."""
        if self._extended[0] is not tools:
            self._extended = tools, (*tools, READ_RESULT_SCHEMA)
        return self._extended[1]

    def beside(self, system: SystemMessage, tools: Sequence[ToolSchema]) -> int:
        """The estimate for a prompt and tools; the same tools are looked at once."""
        if self._sized[0] is not tools:
            self._sized = tools, estimate_tools(tools)
        return estimate(system) + self._sized[1]


def _texts(message: ChatMessage) -> Sequence[str]:
    calls = message.calls if isinstance(message, AssistantMessage) else ()
    return (message.text, *(f"{call.name}{call.arguments}" for call in calls))
