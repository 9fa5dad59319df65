"""What of a typed answer has arrived, as JSON values."""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue
from pydantic_core import from_json

from stagepost._dataclasses import dataclass

from .._live._told import Piece
from .._output._output import WRAPPED, OutputMode
from .._tools._answer_reader import RETURN

_FENCE: Final = re.compile(r"\s*```(?:json)?\s*\n")


@dataclass(frozen=True, slots=True)
class Form:
    """How the answers of an agent come.

    Attributes:
        mode: How its model is told what to answer with.
        is_wrapped: Whether the answer is the only property of an object.
    """

    mode: OutputMode
    is_wrapped: bool


FormOf: TypeAlias = Callable[[Sequence[str]], Form | None]
"""How the answers of the agent come that has a path; None if they are plain text."""


@dataclass(slots=True)
class _Arrived:
    """What has arrived of one answer.

    Attributes:
        turn: Number of the turn.
        call: Index of the call whose arguments are the answer; None if it is the text.
        text: The JSON so far.
        output: What was told of it, if anything was.
        is_torn: Whether a piece of it is missing.
    """

    turn: int
    call: int | None
    text: str = ""
    output: tuple[JsonValue, ...] = ()
    is_torn: bool = False


class Partials:
    """What of the typed answers of a task has arrived.

    Args:
        form_of: Says how each agent answers.
    """

    def __init__(self, form_of: FormOf) -> None:
        self._form_of = form_of
        self._arrived: dict[str, _Arrived] = {}

    @property
    def count(self) -> int:
        """Of how many answers something is kept."""
        return len(self._arrived)

    def add(self, run_id: str, piece: Piece, *, follows: bool) -> tuple[JsonValue, ...]:
        """What has arrived with a piece, as the only element; empty if that tells nothing new.

        Args:
            run_id: The run that answers.
            piece: The piece.
            follows: Whether no piece is missing before it.
        """
        form = self._form_of(piece.path)
        if form is None:
            return ()
        known = self._arrived.get(run_id)
        if piece.number == 0 or known is None or known.turn != piece.turn:
            known = self._arrived[run_id] = _Arrived(piece.turn, None)
            known.is_torn = not follows
        known.is_torn |= not follows
        if not _belongs(piece, known, form):
            return ()
        known.text += piece.text
        found = () if known.is_torn else _read(known.text, form)
        if not found or found == known.output:
            return ()
        known.output = found
        return found

    def forget(self, run_id: str) -> None:
        """The answer of a run is whole."""
        self._arrived.pop(run_id, None)


def _belongs(piece: Piece, known: _Arrived, form: Form) -> bool:
    """Whether a piece is one of the answer's JSON; of several calls that give an answer the first one counts."""
    if form.mode != "tool":
        return piece.kind == "text"
    if piece.kind != "arguments" or piece.tool != RETURN:
        return False
    if known.call is None:
        known.call = piece.call
    return piece.call == known.call


def _read(text: str, form: Form) -> tuple[JsonValue, ...]:
    """The value that a text begins, as the only element; empty as long as nothing can be said of it."""
    if form.mode != "tool" and (fence := _FENCE.match(text)):
        text = text[fence.end() :]
    try:
        value: JsonValue = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return ()
    if not form.is_wrapped or not isinstance(value, dict) or (value and value.keys() != {WRAPPED}):
        return (value,)
    return (value[WRAPPED],) if value else ()
