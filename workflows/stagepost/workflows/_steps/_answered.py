"""Waiting for somebody's answer in the middle of a step."""

from typing import Any

from pydantic import BaseModel

from stagepost.checkpoint import PLAIN, CannotStore, Codec, Effect, EffectStatus, StoredWait, WaitKind, WaitStatus
from stagepost.hub import Duration, check_name, seconds

from .._execution._execution import Execution
from .._execution._signals import Parks
from .._values._expected import expected
from .._values._unawaited import refuse_unawaited
from ._due import due_in


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
        self._codec: Codec[Any] = expected(expect)
        self._show = show
        self._within = None if within is None else seconds(within, "within")
        self._otherwise = otherwise

    async def answer(self, execution: Execution, place: str, path: str) -> Any:
        """The answer: kept among the step's effects, since the step's next wait takes the place of this one.

        Args:
            execution: The run.
            place: The step.
            path: The step's path, for errors.

        Raises:
            Parks: There is none yet.
        """
        if execution.secrets.has_any:
            execution.secrets.check_text(self._key, f"the key of a question of {path}")
        known = execution.ledger.effect(place, self._key)
        if known is not None:
            return self._codec.load(known.value or b"null")
        data = self._data(execution.ledger.ended(place), execution)
        if data is None:
            due_at = None if self._within is None else due_in(self._within, execution)
            raise Parks(WaitKind.ANSWER, self._key, prompt=shown(self._show, execution, path), due_at=due_at)
        await execution.ledger.note(Effect(place, self._key, EffectStatus.DONE, data, is_note=True))
        return self._codec.load(data)

    def _data(self, ended: StoredWait | None, execution: Execution) -> bytes | None:
        if ended is None or (ended.kind, ended.name) != (WaitKind.ANSWER, self._key):
            return None
        if ended.status is WaitStatus.ANSWERED:
            return ended.value or b"null"
        where = f"otherwise of {self._key!r}"
        data = self._codec.dump(self._codec.convert(self._otherwise, where), where)
        execution.secrets.check(data, where)
        return data


def shown(value: object, execution: Execution, path: str) -> bytes:
    """JSON of what a step shows to whoever answers.

    Raises:
        CannotStore: It has no stored form, or shows a secret.
    """
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    where = f"what {path} shows"
    try:
        data = PLAIN.dump(plain, where)
    except CannotStore:
        refuse_unawaited(value, f"show= of {path!r}")
        raise
    execution.secrets.check(data, where)
    return data
