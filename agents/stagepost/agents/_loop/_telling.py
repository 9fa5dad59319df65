"""What whoever listens to a run is told of an answer under way: that the model is asked, and each piece that comes."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from stagepost.hub import get_logger
from stagepost.workflows import MaskStream, StepContext, own_failure

from .._live._told import Piece, TurnBegun
from .._models._messages import encodable
from .._models._model import ModelRequest, ModelResponse, Token, TokenKind
from ._member import Member

Answer = Callable[[ModelRequest], Awaitable[ModelResponse]]
_Part = tuple[TokenKind, int | None]


class Telling:
    """Tells of one turn.

    Whenever the model is asked in it, and whenever an answer starts again, what was told of the turn before is void,
    and the next piece has the number 0. Of two answers at once only the one that has started last is told.

    Args:
        member: The agent whose turn it is.
        turn: The number of answers that the run has before this one.
        context: The step.
    """

    def __init__(self, member: Member, turn: int, context: StepContext) -> None:
        self._agent = member.agent.name
        self._path = member.path
        self._turn = turn
        self._context = context
        self._has_begun = False
        self._told: _Answering | None = None

    def begin(self) -> None:
        """Tell that the model is about to be asked, once."""
        if not self._has_begun:
            self._has_begun = True
            self._context.tell(TurnBegun(self._agent, self._path, self._turn))

    async def answer(self, model: Answer, request: ModelRequest) -> ModelResponse:
        """A model's answer, told piece by piece.

        Args:
            model: Asks the model.
            request: The request; who listens to it is told, too.
        """
        answering = _Answering(self)
        listener = answering.hear if request.on_token is None else _Both(request.on_token, answering.hear)
        response = await model(replace(request, on_token=listener))
        answering.end()
        return response

    def is_told(self, answering: "_Answering", *, starts: bool) -> bool:
        """Whether an answer is the one that is told.

        Args:
            answering: The answer.
            starts: Whether it starts, and is told from now on.
        """
        if starts:
            self._told = answering
        return self._told is answering

    def tell(self, number: int, text: str, token: Token) -> None:
        """Tell a piece."""
        piece = Piece(self._agent, self._path, self._turn, number, text, token.kind, token.tool, token.call)
        self._context.tell(piece)

    def mask(self, text: str) -> str:
        """A text without the secrets of the run."""
        return self._context.mask(text)

    def masked(self) -> MaskStream | None:
        """What masks a text that comes in pieces; None if there are no secrets."""
        mask = self._context.mask
        return mask.stream() if mask else None


class _Answering:
    """One answer under way.

    Args:
        telling: Tells of it.
    """

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._has_started = False
        self._number = 0
        self._streams: dict[_Part, tuple[MaskStream, Token]] = {}

    def hear(self, token: Token) -> None:
        """A piece has come."""
        starts = token.number == 0 or not self._has_started
        if not self._telling.is_told(self, starts=starts):
            return
        if starts:
            self._has_started = True
            self._number = 0
            self._streams = {}
        part = (token.kind, token.call)
        known = self._streams.get(part)
        stream = self._telling.masked() if known is None else known[0]
        if stream is None:
            self._tell(token.text, token)
            return
        if token.tool is not None:
            token = replace(token, tool=self._telling.mask(token.tool))
        self._streams[part] = stream, token
        self._tell(stream.add(token.text), token)

    def end(self) -> None:
        """The answer is whole: tell what was held back."""
        if self._has_started and self._telling.is_told(self, starts=False):
            for stream, token in self._streams.values():
                self._tell(stream.end(), token)

    def _tell(self, text: str, token: Token) -> None:
        if text:
            self._telling.tell(self._number, encodable(text), token)
            self._number += 1


class _Both:
    """Two listeners; an error of the first is logged, and it gets nothing more.

    Args:
        first: One.
        second: The other one.
    """

    def __init__(self, first: Callable[[Token], None], second: Callable[[Token], None]) -> None:
        self._first: Callable[[Token], None] | None = first
        self._second: Final = second

    def __call__(self, token: Token) -> None:
        self._second(token)
        if self._first is None:
            return
        try:
            self._first(token)
        except BaseException as error:  # noqa: BLE001  # it only listens, as for `Tokens`
            failure = own_failure(error)
            self._first = None
            get_logger("agents").warning("token_listener_failed", error=type(failure).__name__)
