"""What belongs together in a conversation, and what of it may be left out: pure functions of messages."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from .._models._messages import AssistantMessage, ChatMessage, ToolMessage
from ._window import Cut


class Group(NamedTuple):
    """Messages that stay or go together: an answer with the results of its calls, or any other message by itself.

    Attributes:
        head: Index of the answer, or of the message.
        results: Indices of the results.
        is_whole: Whether each call has its result.
    """

    head: int
    results: Sequence[int] = ()
    is_whole: bool = True

    @property
    def all(self) -> Sequence[int]:
        """Indices of all its messages."""
        return (self.head, *self.results)


class Allowed(NamedTuple):
    """What is really left out.

    Attributes:
        drop: Indices of messages that are left out.
        clear: Indices of results that are cleared.
    """

    drop: Sequence[int]
    clear: Sequence[int]


def groups(messages: Sequence[ChatMessage]) -> Iterator[Group]:
    """The groups of a conversation, by the index of their first message."""
    found: list[Group] = []
    start = 0
    for index, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            found += _step(messages, start, index)
            start = index
    found += _step(messages, start, len(messages))
    return iter(sorted(found))


def unread(messages: Sequence[ChatMessage]) -> int:
    """Index of the first message that the model has not answered, with the answer whose calls these are results of."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, AssistantMessage):
            return index if message.calls or index == len(messages) - 1 else index + 1
    return 0


def allowed(messages: Sequence[ChatMessage], cut: Cut, pinned: Collection[int]) -> Allowed:
    """What of a cut may be done, whoever has asked for it.

    An answer goes with the results of its calls, and only if each call has one. A result that is to go alone is
    cleared. What is pinned stays, and so does what the model has not answered yet.

    Args:
        messages: What the model would see, without the prompt.
        cut: What is to be left out.
        pinned: Indices of requests that stay.
    """
    drop, clear = set(cut.drop), set(cut.clear)
    tail = unread(messages)
    dropped: list[int] = []
    cleared: list[int] = []
    for group in groups(messages):
        if group.head in pinned or group.head >= tail:
            continue
        if group.head in drop and group.is_whole:
            dropped += group.all
        else:
            results = group.results or _own(messages, group.head)
            cleared += [index for index in results if (index in drop or index in clear) and index < tail]
    return Allowed(sorted(dropped), sorted(cleared))


def _step(messages: Sequence[ChatMessage], start: int, stop: int) -> Iterable[Group]:
    """The groups of one answer and what follows it, up to the next one."""
    first = messages[start] if start < stop else None
    if not isinstance(first, AssistantMessage):
        return [Group(index) for index in range(start, stop)]
    open_ids = [call.id for call in first.calls]
    results: list[int] = []
    others: list[Group] = []
    for index in range(start + 1, stop):
        message = messages[index]
        if isinstance(message, ToolMessage) and message.call_id in open_ids:
            open_ids.remove(message.call_id)
            results.append(index)
        else:
            others.append(Group(index))
    return [Group(start, tuple(results), not open_ids), *others]


def _own(messages: Sequence[ChatMessage], head: int) -> Sequence[int]:
    """A result that stands alone."""
    return (head,) if isinstance(messages[head], ToolMessage) else ()
