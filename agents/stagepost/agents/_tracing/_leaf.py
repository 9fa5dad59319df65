"""One attempt at something: a step, a question to a model, a call of a tool."""

from collections.abc import Callable, Mapping
from contextvars import Token
from types import TracebackType
from typing import Final, Self

from stagepost.workflows import StepContext, StepOutcome, outcome_of

from ._current import enter, leave
from ._observation import ObservationStatus, TraceContext
from ._telling import Telling

_STATUS: Final[Mapping[StepOutcome, ObservationStatus]] = {
    "completed": "ok",
    "failed": "error",
    "cancelled": "cancelled",
    "waiting": "waiting",
    "interrupted": "interrupted",
}


class Leaf:
    """An observation that is under way while a block is: it ends with the block, as the block does.

    Args:
        telling: Tells the provider.
        observed: Its context.
        context: The step that it is in.
        left: Is called after its end.
    """

    def __init__(
        self,
        telling: Telling,
        observed: TraceContext,
        context: StepContext,
        left: Callable[[], None],
    ) -> None:
        self._tell = telling
        self._observed = observed
        self._context = context
        self._left = left
        self._answer: tuple[Mapping[str, object], Mapping[str, int | float]] | None = None
        self._output: object = None
        self._failed = False
        self._token: Token[TraceContext | None] | None = None
        self._within = telling.within(observed)

    def answered(self, output: Mapping[str, object], usage: Mapping[str, int | float]) -> None:
        """Of a question: the model has answered so."""
        self._answer = (output, usage)

    def returned(self, output: object, error: str | None = None) -> None:
        """Of a call: this has come of it.

        Args:
            output: The result.
            error: The result, if it says that the call has failed.
        """
        self._output = output
        if error is not None:
            self._failed = True
            self._tell.failed(self._observed, "ToolError", error)

    def __enter__(self) -> Self:
        self._token = enter(self._observed)
        self._within.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._within.leave()
        if self._token is not None:
            leave(self._token)
        outcome = outcome_of(error, self._context)
        if error is not None and outcome == "failed":
            self._tell.failed(self._observed, type(error).__name__, str(error))
        if self._answer is not None and outcome == "completed":
            self._tell.answer(self._observed, *self._answer)
        else:
            status: ObservationStatus = "error" if self._failed else _STATUS[outcome]
            self._tell.end(self._observed, status, output_data=self._output)
        self._left()
