"""What ends the wait of a step, and how what is sent for it is checked."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import PLAIN, Codec, StoredWait, WaitKind

from .._values._expected import expected

TypeOfAnswer: TypeAlias = Callable[[str, Any], Any]
"""From a question's key, and what is shown with it as JSON values, to the type of its answer; None for plain JSON."""


class AnswerTypes(NamedTuple):
    """For ``step(…, answers=AnswerTypes(function))``, a step whose questions have answers of several types.

    Attributes:
        type_of: The type of an answer, from the key of its question and what is shown with it: a pure function of
            these, since each process that checks an answer calls it.
    """

    type_of: TypeOfAnswer


@dataclass(frozen=True, slots=True)
class Receives:
    """What ends the wait of a step.

    Attributes:
        kind: An answer, a signal, or the time.
        name: Of the step, or of the signal.
        codec: For what somebody outside sends, unless the question decides.
        only: Whether the step does nothing but wait for it.
        type_of: The type of an answer, if that depends on the question.
    """

    kind: WaitKind
    name: str
    codec: Codec[Any]
    only: bool = False
    type_of: TypeOfAnswer | None = None

    @classmethod
    def answers(cls, step: str, kind: Any) -> "Receives":
        """Of a step that asks in its middle.

        Args:
            step: Its name.
            kind: What it has for ``answers=``.
        """
        if isinstance(kind, AnswerTypes):
            return cls(WaitKind.ANSWER, step, PLAIN, type_of=kind.type_of)
        return cls(WaitKind.ANSWER, step, expected(kind))

    @property
    def is_plain(self) -> bool:
        """Whether whatever is plain JSON may be sent."""
        return self.codec is PLAIN and self.type_of is None

    def codec_of(self, name: str, prompt: bytes | None) -> Codec[Any]:
        """The codec of what is sent for one wait.

        Args:
            name: What is asked.
            prompt: JSON of what is shown with it.
        """
        if self.type_of is None:
            return self.codec
        return expected(self.type_of(name, None if prompt is None else from_json(prompt)))

    def fits(self, wait: StoredWait) -> bool:
        """Whether a stored wait is one that the step opens, or one that it leaves to end by itself."""
        if wait.kind is WaitKind.SIGNAL:
            return self.kind is wait.kind and self.name == wait.name
        if wait.kind in (WaitKind.ANSWER, WaitKind.TIMER):
            return self.kind is wait.kind
        return not self.only
