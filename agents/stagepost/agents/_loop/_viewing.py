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
from .._context._view import View
from .._delegation._state import Changes, RunState
from .._models._around import count_tokens, model_window
from .._models._messages import AssistantMessage, ChatMessage, SystemMessage, Usage, UserMessage
from .._models._model import ToolSchema
from ..errors import ContextTooLong
from ._member import Member

_SIGHT: Final = "sight"  # where a run keeps what its model sees, while a process works on it
_NEAR: Final = 2  # what a provider has counted is stored once it is a part of the limit of one in so many
_OF_WINDOW: Final = 0.8  # of what a model can read, so that the answer has room


class Sight:
    """What a model sees of one run, kept while a process works on it, so that a turn only looks at what is new.

    Args:
        member: The agent.
        view: The stored view.
        read: Tokens of the last prompt, as its provider has counted them; 0 if that is not stored.
    """

    def __init__(self, member: Member, view: View, read: int = 0) -> None:
        self._member = member
        self._policy = member.context
        self._tally = Tally()
        self._transcript: Sequence[ChatMessage] = ()
        self._extra = 0
        self._stored = view
        self._stored_read = self._read = read
        self._shown = Shown(view, self._policy.result_limit)

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The messages that the model sees, without the prompt."""
        return self._shown.messages

    @property
    def view(self) -> View:
        """The view that they are made by."""
        return self._shown.view

    @property
    def changes(self) -> Changes:
        """What has to be stored: the view, and what the provider has counted, where that has changed and matters."""
        view = self._shown.view
        changes: Changes = {} if view is self._stored or view == self._stored else {"view": view}
        if self._read != self._stored_read:
            changes["read"] = self._read
        return changes

    @property
    def left_out(self) -> int:
        """How many answers of the model it does not see."""
        return self.view.answers

    def look(self, state: RunState, news: Sequence[UserMessage]) -> None:
        """Take in what has been added to the transcript.

        Args:
            state: The run's state.
            news: What is said to the run in this turn.
        """
        view, transcript = state.view, state.messages
        if self.view is not view and self.view != view:
            self._shown = Shown(view, self._policy.result_limit)
            self._tally.begin()
        self._stored, self._stored_read = view, state.read
        self._transcript = transcript
        self._extra = sum(map(estimate, news)) if news else 0
        self._shown.grow(transcript)

    @property
    def reads(self) -> bool:
        """Whether a part of a result is missing, which the model may read."""
        return self._shown.reads

    @property
    def needs_count(self) -> bool:
        """Whether there is a limit to what the model sees, so that it has to be known how much that is."""
        policy = self._policy
        return bool(policy.compact) and (policy.messages is not None or self._limit is not None)

    async def make_room(self, beside: int) -> None:
        """Leave out what is too much, as the policy says; if a summary is due then, nothing was left out yet.

        Args:
            beside: The estimate for the prompt and the tools.
        """
        tally = self._tally
        tally.beside = beside
        compacting = self._compacting()
        if self._stored_read and not tally.is_counted:
            tally.counted_before(self._stored_read, self._answered)
        if self.view.tries:
            return
        limit = self._limit
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
        limit = self._limit
        if limit is not None:
            self._tally.take(self._shown.messages)
            self._tally.counted(usage.input_tokens, self._extra)
            self._read = usage.input_tokens if usage.input_tokens * _NEAR >= limit else 0
        if self.view.tries:
            self._shown.view = replace(self.view, tries=0)

    @property
    def _answered(self) -> int:
        """How many of the messages the model was asked with before its last answer."""
        places = range(len(self.messages) - 1, -1, -1)
        return next((index for index in places if isinstance(self.messages[index], AssistantMessage)), 0)

    @property
    def _limit(self) -> int | None:
        if self._policy.limit is not None:
            return self._policy.limit
        window = model_window(self._member.model)
        return None if window is None else int(window * _OF_WINDOW)

    def _compacting(self) -> Compacting:
        name, policy = self._member.agent.name, self._policy
        return Compacting(name, policy, self._transcript, self._shown, self._tally, extra=self._extra)

    async def _count(self) -> None:
        """Have the model's tokenizer count what there is, if it has one."""
        text = "\n".join(text for message in self._shown.messages for text in _texts(message))
        tokens = await count_tokens(self._member.model, text)
        if tokens:
            self._tally.counted(tokens + self._tally.beside)

    def _take(self, compacting: Compacting, before: int) -> None:
        self._shown = compacting.shown
        get_logger("agents").info(
            "context_compacted",
            agent=self._member.agent.name,
            tokens_before=before,
            tokens=compacting.total,
            hidden=self.view.count,
            summary_due=self.view.due is not None,
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

    def look(self, state: RunState, context: StepContext, news: Sequence[UserMessage]) -> Sight:
        """What the model sees now.

        Args:
            state: The run's state.
            context: The step that asks.
            news: What is said to the run in this turn.
        """
        sight = context.memo.get(_SIGHT)
        if not isinstance(sight, Sight):
            sight = context.memo[_SIGHT] = Sight(self._member, state.view, state.read)
        sight.look(state, news)
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
