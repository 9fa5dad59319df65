"""Waiting for somebody's answer in the middle of a step."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from stagepost.checkpoint import PLAIN, Codec, Effect, EffectStatus, Wait, WaitKind, WaitStatus
from stagepost.hub import Duration, check_name, seconds

from ._due import due_in
from ._signals import Parks
from ._types import codec_of

if TYPE_CHECKING:
    from ._context import StepContext


class Question:
    """One thing that a step asks somebody; see `StepContext.wait_for_answer`.

    Args:
        key: Its name within the step.
        expect: Type of the answer; None for plain JSON.
        show: What is shown to whoever answers.
        within: How long to wait; None for no limit.
        otherwise: The answer if nobody has given one by then.
    """

    def __init__(self, key: str, *, expect: Any, show: object, within: Duration | None, otherwise: object) -> None:
        self._key = check_name("key", key)
        self._codec: Codec[Any] = codec_of(expect) or PLAIN
        self._show = show
        self._within = None if within is None else seconds(within)
        self._otherwise = otherwise

    async def answer(self, context: "StepContext") -> Any:
        """The answer: kept among the step's effects, since the step's next wait takes the place of this one.

        Raises:
            Parks: There is none yet.
        """
        ledger = context.ledger
        known = ledger.effect(context.place, self._key)
        if known is not None:
            return self._codec.load(known.value or b"null")
        data = self._data(ledger.ended(context.place))
        if data is None:
            due_at = None if self._within is None else due_in(self._within, context)
            raise Parks(WaitKind.ANSWER, self._key, prompt=shown(self._show, context), due_at=due_at)
        await ledger.note(Effect(context.place, self._key, EffectStatus.DONE, data))
        return self._codec.load(data)

    def _data(self, ended: Wait | None) -> bytes | None:
        if ended is None or (ended.kind, ended.name) != (WaitKind.ANSWER, self._key):
            return None
        if ended.status is WaitStatus.ANSWERED:
            return ended.value or b"null"
        where = f"otherwise of {self._key!r}"
        return self._codec.dump(self._codec.convert(self._otherwise, where), where)


def shown(value: object, context: "StepContext") -> bytes:
    """JSON of what is shown to whoever answers.

    Raises:
        CannotStore: It has no stored form, or shows a secret.
    """
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    where = f"what {context.path} shows"
    data = PLAIN.dump(plain, where)
    context.execution.secrets.check(data, where)
    return data
