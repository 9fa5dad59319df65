"""What a local server does next, as its script says."""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final

from stagepost._dataclasses import dataclass

from .._model import ModelResponse
from .._script import Script, as_response
from ._entries import FAULTS, Fault, ServerEntry, ServerRequest, ServerScript, Slow, Status

_STOCK: Final = ModelResponse("There is more to say about this than comes through.")


@dataclass(frozen=True, slots=True)
class Move:
    """What to do with a request.

    Attributes:
        response: The answer, or what would have been the answer.
        fault: What goes wrong; None if nothing does.
    """

    response: ModelResponse
    fault: Fault | None = None


class Plan:
    """A script, read by the threads of a server.

    Args:
        script: The script.
    """

    def __init__(self, script: ServerScript) -> None:
        self._lock = Lock()
        self._decide = _by_function(script) if callable(script) else _by_list(script)
        self._threaded = callable(script)

    def next(self, request: ServerRequest) -> Move:
        """What to do with a request; asked once more after a `Slow`."""
        if self._threaded:
            return self._decide(request)
        with self._lock:
            return self._decide(request)


def _by_function(function: Callable[[ServerRequest], ServerEntry]) -> Callable[[ServerRequest], Move]:
    def decide(request: ServerRequest) -> Move:
        entry = function(request)
        if isinstance(entry, Slow):
            raise TypeError("a function that is to be slow sleeps by itself")
        if isinstance(entry, FAULTS):
            return Move(_STOCK, entry)
        return Move(as_response(entry, request.turn))

    return decide


def _by_list(entries: Iterable[ServerEntry]) -> Callable[[ServerRequest], Move]:
    script: Script[Fault] = Script(entries, FAULTS)

    def decide(request: ServerRequest) -> Move:
        turn, answers = request.turn, script.answers
        fault = script.fault(turn)
        if turn < len(answers):
            return Move(answers[turn], fault)
        return Move(
            _STOCK, fault or Status(400, message=f"the script has {len(answers)} answers, and this is one more")
        )

    return decide
