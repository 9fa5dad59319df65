"""A list of answers and faults, in the order in which a conversation meets them."""

from collections.abc import Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar, cast

from ._messages import ToolCall
from ._model import ModelRequest, ModelResponse

FaultT = TypeVar("FaultT")

Answer: TypeAlias = str | ToolCall | Sequence[ToolCall] | ModelResponse
"""What a model may be made to say: a text, one call or several, or a whole response."""


class Script(Generic[FaultT]):
    """Answers by their turn, and faults that stand before them, each of which is met once.

    Args:
        script: Answers and faults.
        faults: Classes of the faults.
    """

    def __init__(self, script: Iterable[Answer | FaultT], faults: tuple[type[FaultT], ...]) -> None:
        if isinstance(script, str | ToolCall | ModelResponse):
            raise TypeError(f"a script is a list of answers, and not a single one: [{script!r:.80}]")
        self.answers: list[ModelResponse] = []
        self._faults: list[list[FaultT]] = [[]]
        for entry in script:
            if isinstance(entry, faults):
                self._faults[-1].append(entry)
            else:
                self.answers.append(as_response(cast("Answer", entry), len(self.answers)))
                self._faults.append([])

    def fault(self, turn: int) -> FaultT | None:
        """What goes wrong in this turn, once; None if nothing more does."""
        return self._faults[turn].pop(0) if turn < len(self._faults) and self._faults[turn] else None


def as_response(answer: Answer, turn: int | ModelRequest) -> ModelResponse:
    """An answer as a model gives it, its calls with ids that are the same in every process.

    Args:
        answer: It.
        turn: Which answer of the conversation it is, or what it answers.
    """
    if isinstance(answer, ModelResponse):
        return answer
    if isinstance(answer, str):
        return ModelResponse(answer)
    turn = turn if isinstance(turn, int) else turn.answers
    calls = [answer] if isinstance(answer, ToolCall) else answer
    return ModelResponse(calls=tuple(_named(made, turn, index) for index, made in enumerate(calls)))


def _named(made: ToolCall, turn: int, index: int) -> ToolCall:
    return made if made.id else made.model_copy(update={"id": f"call-{turn}-{index}"})
