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
        messages: The messages. The first one is the first request; a note or a summary stands after it, if there is
            one.
        places: Where each of them stands in the transcript; -1 for the note.
        reads: Whether a part of a result is missing.
    """

    def __init__(self, view: View, limit: int | None) -> None:
        self.view = view
        self.messages: list[ChatMessage] = []
        self.places: list[int] = []
        self.reads = view.reads
        self._limit = limit
        self._length = 0
        self._less: Mapping[int, int] = {
            place: characters for start, stop, characters in view.shrunk for place in range(start, stop)
        }

    def grow(self, transcript: Sequence[ChatMessage]) -> None:
        """Lay out what has been added to the transcript since."""
        known, length = self._length, len(transcript)
        self._length = length
        if known or not self.view.hidden:
            for place in range(known, length):
                self._add(place, transcript[place])
        else:
            self._lay_out(transcript, length)

    def _lay_out(self, transcript: Sequence[ChatMessage], length: int) -> None:
        """The same for the first time, with messages hidden."""
        note: UserMessage | None = self._note()
        for place in self.view.shown(length):
            self._add(place, transcript[place])
            if note is not None:
                self.messages.append(note)
                self.places.append(-1)
                note = None

    def _add(self, place: int, message: ChatMessage) -> None:
        less = self._less.get(place) if self._less else None
        if less is not None:
            message = _less(message, less, place)
        elif self._limit is not None and isinstance(message, ToolMessage) and len(message.text) > self._limit:
            message = message.model_copy(update={"text": excerpt(message.text, self._limit, place)})
            self.reads = True
        self.messages.append(message)
        self.places.append(place)

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
