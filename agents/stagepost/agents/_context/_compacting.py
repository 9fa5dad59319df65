"""Leaving out what is old: the compactions of a policy, and what remains when a provider takes no less."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from stagepost.hub import describe_error
from stagepost.workflows import own_failure

from .._models._messages import AssistantMessage, ChatMessage, ToolMessage
from ..errors import CompactionFailed
from ._compactions import KeepLast
from ._counting import BYTES, Tally
from ._policy import ContextPolicy
from ._shown import Shown
from ._steps import allowed, unread
from ._view import Due, View, ranges
from ._window import Compaction, Cut, Window

LEFT: Final = 0.6  # of a limit, once there was too much

_SHORT: Final = 1_000  # characters of a result, where there is no room for more
_AT_MOST: Final = 3  # times that a prompt is made smaller because its provider says that it is too long


class Goal(NamedTuple):
    """How much may be left.

    Attributes:
        tokens: The most tokens; None for no limit.
        messages: The most messages; None for no limit.
    """

    tokens: int | None
    messages: int | None


class Compacting:
    """Makes what a model sees of one run smaller.

    Args:
        agent: Name of the agent.
        policy: Its policy.
        transcript: All that was said.
        shown: What the model sees of it.
        tally: Counts that.
        request: Where the message stands that the run is to answer.
        extra: The estimate for messages that are not part of the transcript yet.

    Attributes:
        shown: What the model sees now.
    """

    def __init__(
        self,
        agent: str,
        policy: ContextPolicy,
        transcript: Sequence[ChatMessage],
        shown: Shown,
        tally: Tally,
        *,
        request: int = 0,
        extra: int = 0,
    ) -> None:
        self.shown = shown
        self._agent = agent
        self._policy = policy
        self._transcript = transcript
        self._tally = tally
        tally.take(shown.messages)
        self._request = request
        self._extra = extra

    @property
    def total(self) -> int:
        """Tokens of the prompt."""
        return self._tally.total + round(self._extra * self._tally.ratio)

    def is_within(self, tokens: int | None, messages: int | None) -> bool:
        """Whether the prompt has no more than that."""
        return (tokens is None or self.total <= tokens) and (messages is None or len(self.shown.messages) <= messages)

    def make_room(self, limit: int | None) -> View:
        """What the model is to see once there is too much, or the summary that is to be written before.

        Args:
            limit: The most tokens of a prompt, if that is known.

        Raises:
            CompactionFailed: A compaction has raised an error, or says something else than a cut.
        """
        view = self._by_policy(Goal(_part(limit), _part(self._policy.messages)))
        if view.due is None and limit is not None and self.total > limit:
            self._shrink_unread(limit)
        return self.shown.view

    def after_refusal(self, limit: int | None) -> View | None:
        """What the model is to see after its provider has said that it is too much; None if there is nothing left.

        Args:
            limit: The most tokens of a prompt, if that is known.

        Raises:
            CompactionFailed: As for `make_room`.
        """
        before = self.shown.view
        if not self._policy.compact:
            return None
        half = max(1, self.total // 2)
        goal = Goal(half if limit is None else min(half, max(1, int(limit * LEFT))), None)
        for level in range(before.tries, _AT_MOST):
            match level:
                case 0:
                    self._by_policy(goal)
                case 1:
                    self._leave_out(KeepLast(), 0, goal)
                case _:
                    self._leave_least()
            if self.shown.view != before:
                self._see(replace(self.shown.view, tries=level + 1))
                return self.shown.view
        return None

    def _by_policy(self, goal: Goal) -> View:
        """Have one compaction after the other leave something out, until it is enough."""
        for number, compaction in enumerate(self._policy.compact):
            self._leave_out(compaction, number, goal)
            if self.shown.view.due is not None or self.is_within(*goal):
                break
        return self.shown.view

    def _leave_out(self, compaction: Compaction, number: int, goal: Goal) -> None:
        """Have a compaction leave something out, or a summary of it written."""
        messages, places = self._visible()
        cut = self._cut(compaction, self._window(messages, goal))
        done = allowed(messages, cut, _pinned(places, self._request))
        view = self.shown.view.with_less([places[index] for index in done.clear], 0)
        dropped = ranges(places[index] for index in done.drop)
        answers = sum(isinstance(messages[index], AssistantMessage) for index in done.drop)
        if cut.summarize and dropped:
            self._see(replace(view, due=Due(tuple(dropped), answers, number)))
        else:
            self._see(view.without(dropped, answers) if dropped else view)

    def _leave_least(self) -> None:
        """Leave out all that may be left out, and show little of what the model has not read, or of older requests."""
        self._leave_out(_Nothing(), 0, Goal(0, None))
        messages, places = self._visible()
        tail = unread(messages)
        long = [
            place
            for index, (message, place) in enumerate(zip(messages, places, strict=True))
            if (index >= tail and _is_long(message)) or (place == 0 and self._request and len(message.text) > _SHORT)
        ]
        self._see(self.shown.view.with_less(long, _SHORT))

    def _shrink_unread(self, limit: int) -> None:
        """Show as much of the results that the model has not read as there is room for."""
        messages, places = self._visible()
        tail = unread(messages)
        found = [index for index in range(tail, len(messages)) if _is_long(messages[index])]
        if not found:
            return
        over = int((self.total - limit) / self._tally.ratio)
        have = sum(len(messages[index].text) for index in found)
        each = max(_SHORT, (have - over * BYTES) // len(found))
        cut = [places[index] for index in found if len(messages[index].text) > each]
        self._see(self.shown.view.with_less(cut, each))

    def _window(self, messages: Sequence[ChatMessage], goal: Goal) -> Window:
        ratio = self._tally.ratio
        counted = zip(self._tally.estimates, self.shown.places, strict=True)
        tokens = [round(each * ratio) for each, place in counted if place >= 0]
        beside = self.total - sum(tokens)
        return Window(
            messages=messages,
            tokens=tokens,
            beside=beside,
            most_tokens=goal.tokens,
            most_messages=goal.messages,
            unread=unread(messages),
        )

    def _cut(self, compaction: Compaction, window: Window) -> Cut:
        name = type(compaction).__name__
        try:
            cut: object = compaction.cut(window)
            if isinstance(cut, Cut):
                return Cut(frozenset(cut.drop), frozenset(cut.clear), bool(cut.summarize))
        except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
            failure = own_failure(error)
            raise CompactionFailed(self._agent, name, describe_error(failure)) from failure
        raise CompactionFailed(self._agent, name, f"it has returned {type(cut).__name__}: return a Cut")

    def _visible(self) -> tuple[Sequence[ChatMessage], Sequence[int]]:
        """The messages without the note, and their places."""
        shown = zip(self.shown.messages, self.shown.places, strict=True)
        seen = [(message, place) for message, place in shown if place >= 0]
        return [message for message, _ in seen], [place for _, place in seen]

    def _see(self, view: View) -> None:
        if view is not self.shown.view:
            self.shown = Shown(view, self._policy.result_limit)
            self.shown.grow(self._transcript)
            self._tally.begin()
            self._tally.take(self.shown.messages)


class _Nothing:
    """Leaves nothing but what has to stay."""

    def cut(self, window: Window) -> Cut:
        """All."""
        return Cut(drop=range(len(window.messages)))


def _pinned(places: Sequence[int], request: int) -> Collection[int]:
    """Indices of the requests that stay: the first one, and that of the run."""
    return {index for index, place in enumerate(places) if place in (0, request)}


def _part(limit: int | None) -> int | None:
    return None if limit is None else max(1, int(limit * LEFT))


def _is_long(message: ChatMessage) -> bool:
    return isinstance(message, ToolMessage) and len(message.text) > _SHORT
