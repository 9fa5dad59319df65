"""The messages that a model is shown: made of a transcript and a view, and kept up to date as the transcript grows."""

from collections.abc import Mapping, Sequence
from typing import Final

from .._models._messages import ChatMessage, ToolMessage, UserMessage
from ._excerpt import excerpt
from ._view import View

_NOTE: Final = "[{count:,} earlier messages of this conversation are not shown.]"
_SUMMARY: Final = "[{count:,} earlier messages of this conversation are not shown. A summary of them:]\n\n{summary}"


class Shown:
    """What a model is shown of one transcript by one view. Each message is laid out once.

    Args:
        view: The view.
        limit: The most characters of a result; None for no limit.

    Attributes:
        view: The view.
        messages: The messages: the transcript itself, while all of it is shown. The first one is the first request; a
            note or a summary stands after it, if there is one.
        reads: Whether a part of a result is missing.
    """

    def __init__(self, view: View, limit: int | None) -> None:
        self.view = view
        self.messages: Sequence[ChatMessage] = ()
        self.reads = view.reads
        self._limit = limit
        self._length = 0
        self._made: list[ChatMessage] | None = [] if view.hidden or view.shrunk else None
        self._places: list[int] = []
        self._less: Mapping[int, int] = {
            place: characters for start, stop, characters in view.shrunk for place in range(start, stop)
        }

    @property
    def places(self) -> Sequence[int]:
        """Where each of the messages stands in the transcript; -1 for the note."""
        return range(self._length) if self._made is None else self._places

    def grow(self, transcript: Sequence[ChatMessage]) -> None:
        """Lay out what has been added to the transcript since."""
        known, self._length = self._length, len(transcript)
        added = transcript[known:]
        if self._made is None and (self._limit is None or not _has_long(added, self._limit)):
            self.messages = transcript
            return
        if self._made is None:
            self._made, self._places = list(transcript[:known]), list(range(known))
        if known or not self.view.hidden:
            for place, message in enumerate(added, known):
                self._add(place, message, self._made)
        else:
            self._lay_out(transcript, self._made)
        self.messages = self._made

    def _lay_out(self, transcript: Sequence[ChatMessage], made: list[ChatMessage]) -> None:
        """The same for the first time, with messages hidden."""
        note: UserMessage | None = self._note()
        for place in self.view.shown(self._length):
            self._add(place, transcript[place], made)
            if note is not None:
                made.append(note)
                self._places.append(-1)
                note = None

    def _add(self, place: int, message: ChatMessage, made: list[ChatMessage]) -> None:
        less = self._less.get(place) if self._less else None
        if less is not None:
            message = _less(message, less, place)
        elif self._limit is not None and _is_long(message, self._limit):
            message = message.model_copy(update={"text": excerpt(message.text, self._limit, place)})
            self.reads = True
        made.append(message)
        self._places.append(place)

    def _note(self) -> UserMessage:
        said = _SUMMARY if self.view.summary else _NOTE
        return UserMessage(text=said.format(count=self.view.count, summary=self.view.summary))


def _less(message: ChatMessage, characters: int, place: int) -> ChatMessage:
    """A message of which only a part is shown; the pictures of a result are not."""
    if isinstance(message, ToolMessage):
        text = excerpt(message.text, characters, place)
        if message.parts:
            text = f"{text}\n[Its pictures and files are no longer shown.]".lstrip()
        return message.model_copy(update={"text": text, "parts": ()})
    return message.model_copy(update={"text": excerpt(message.text, characters, None)})


def _is_long(message: ChatMessage, limit: int) -> bool:
    return isinstance(message, ToolMessage) and len(message.text) > limit


def _has_long(messages: Sequence[ChatMessage], limit: int) -> bool:
    """Whether there is such a message; a conversation begins each turn with all of them."""
    for message in messages:  # noqa: SIM110  # written out, as there may be very many
        if type(message) is ToolMessage and len(message.text) > limit:
            return True
    return False
