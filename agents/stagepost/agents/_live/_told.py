"""What is told of a turn and of a call while they are under way.

All of these are without the secrets of the run. `path` has the names of the agents from the root to the one that works,
and `agent` is the last of them; after a handoff that is the agent that has the run.
"""

from collections.abc import Sequence

from stagepost._dataclasses import dataclass

from .._models._model import TokenKind


@dataclass(frozen=True, slots=True)
class TurnBegun:
    """An agent's model is about to be asked for its next answer.

    Attributes:
        agent: Name of the agent.
        path: Names of the agents from the root to it.
        turn: The number of answers that the run has before this one, as in the run's state.
    """

    agent: str
    path: Sequence[str]
    turn: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer under way.

    Attributes:
        agent: Name of the agent.
        path: Names of the agents from the root to it.
        turn: The number of answers that the run has before this one, as in the run's state.
        number: The number of pieces of this answer before it. At 0 the answer starts, or starts again: what came before
            in this turn is void.
        text: The text; never empty.
        kind: What it belongs to: the text, the thinking before it, or the arguments of a call.
        tool: Name of the tool, for arguments; otherwise None.
        call: Index of the call among those of the answer, for arguments; otherwise None.
        pieces: How many pieces it holds: several where they were joined for somebody who has joined late.
    """

    agent: str
    path: Sequence[str]
    turn: int
    number: int
    text: str
    kind: TokenKind
    tool: str | None = None
    call: int | None = None
    pieces: int = 1

    def grown(self, more: object) -> "Piece | None":
        """This piece and the next one as one, for who comes late; None if they do not belong together.

        Args:
            more: What is told next. If it is piece 0 of the turn, this one is void.
        """
        if not isinstance(more, Piece) or (more.path, more.turn) != (self.path, self.turn):
            return None
        if more.number == 0:
            return more
        belongs = (more.kind, more.tool, more.call) == (self.kind, self.tool, self.call)
        if not belongs or more.number != self.number + self.pieces:
            return None
        text, pieces = self.text + more.text, self.pieces + more.pieces
        return Piece(self.agent, self.path, self.turn, self.number, text, self.kind, self.tool, self.call, pieces)


@dataclass(frozen=True, slots=True)
class ProgressMade:
    """A call says how far it is.

    Attributes:
        agent: Name of the agent that calls.
        path: Names of the agents from the root to it.
        call_id: The model's id of the call; another turn may use the same.
        call: Number of the call in its run: turn and index, such as ``"2-0"``.
        tool: Name of the tool.
        progress: How much is done.
        total: How much there is to do; None if that is not known.
        message: What it is doing; None if it does not say.
    """

    agent: str
    path: Sequence[str]
    call_id: str
    call: str
    tool: str
    progress: float
    total: float | None = None
    message: str | None = None
