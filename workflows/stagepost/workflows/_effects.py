"""Effects on the world outside that must not happen twice: intent before, outcome after."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stagepost.checkpoint import Codec, Effect, EffectStatus
from stagepost.hub import check_name

from ._guards import Errors
from .errors import EffectNotDone, EffectUnderWay, OutcomeUnknown

if TYPE_CHECKING:
    from ._context import StepContext


async def once(
    context: "StepContext",
    key: str,
    effect: Callable[[], Any],
    *,
    codec: Codec[Any],
    not_done: Errors,
    on_unknown: Callable[[], Any] | None,
) -> Any:
    """See `StepContext.once`."""
    check_name("effect key", key)
    attempt = _Attempt(context, key, codec, _all(not_done))
    if not context.ledger.begin(context.place, key):
        raise EffectUnderWay(key, context.path)
    try:
        return await attempt.make(effect, on_unknown)
    finally:
        context.ledger.finish(context.place, key)


class _Attempt:
    """One call of `once`.

    Args:
        context: The step's.
        key: The effect's name within the step.
        codec: For what it returns.
        not_done: Errors that say that it has not happened.
    """

    def __init__(
        self, context: "StepContext", key: str, codec: Codec[Any], not_done: tuple[type[Exception], ...]
    ) -> None:
        self._ledger = context.ledger
        self._place = context.place
        self._path = context.path
        self._key = key
        self._codec = codec
        self._not_done = not_done

    async def make(self, effect: Callable[[], Any], on_unknown: Callable[[], Any] | None) -> Any:
        """Do it, unless it is done, or in doubt."""
        known = self._ledger.effect(self._place, self._key)
        if known is None:
            await self._note(EffectStatus.INTENT)
        elif known.status is EffectStatus.DONE:
            return self._codec.load(known.value or b"null")
        elif on_unknown is None:
            raise self._unknown()
        else:
            try:
                return await self._call(on_unknown)
            except self._not_done:
                pass  # so it is done now, on the intent that is saved
        try:
            return await self._call(effect)
        except self._not_done:
            await self._note(EffectStatus.UNDONE)
            raise

    async def _call(self, function: Callable[[], Any]) -> Any:
        """What a function returns, saved; only errors that say "not done" get by."""
        try:
            value = function()
            if inspect.isawaitable(value):
                value = await value
            data = self._codec.dump(value, f"what effect {self._key!r} of {self._path} returned")
        except self._not_done:
            raise
        except Exception as error:
            raise self._unknown() from error
        await self._note(EffectStatus.DONE, data)
        return self._codec.load(data)

    async def _note(self, status: EffectStatus, value: bytes | None = None) -> None:
        await self._ledger.note(Effect(self._place, self._key, status, value))

    def _unknown(self) -> OutcomeUnknown:
        if self._ledger.is_durable:
            self._ledger.doubt(self._place, self._key)
        return OutcomeUnknown(self._key, self._path)


def _all(not_done: Errors) -> tuple[type[Exception], ...]:
    return (EffectNotDone, *(not_done if isinstance(not_done, tuple) else (not_done,)))
