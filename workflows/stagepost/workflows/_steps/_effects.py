"""Effects on the world outside that must not happen twice: intent before, outcome after."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from stagepost.checkpoint import Attachments, Codec, Effect, EffectStatus, WaitKind
from stagepost.hub import check_name

from .._containment import own_failure
from .._execution._ledger import Ledger
from .._execution._signals import Parks
from .._values._secrets import Secrets
from ..errors import EffectNotDone, EffectUnderWay, OutcomeUnknown

NotDone: TypeAlias = type[Exception] | tuple[type[Exception], ...]


class Once:
    """One effect of a step; see `StepContext.once`.

    Args:
        ledger: Where effects are saved.
        place: The step.
        path: The step's path, for errors.
        key: The effect's name within the step.
        codec: For what it returns.
        not_done: Errors that say that it has not happened.
        secrets: What must not be in what it returns.
        prompt: JSON of what is shown to whoever says what became of it.
        attached: Takes the bytes that it brings, and has those that the step has attached: they are saved with it.
    """

    def __init__(
        self,
        ledger: Ledger,
        place: str,
        path: str,
        key: str,
        *,
        codec: Codec[Any],
        not_done: NotDone,
        secrets: Secrets,
        prompt: bytes | None,
        attached: Callable[[], Attachments],
    ) -> None:
        self._attached = attached
        self._ledger = ledger
        self._secrets = secrets
        self._place = place
        self._path = path
        if secrets.has_any:
            secrets.check_text(key, f"the key of an effect of {path}")
        self._key = check_name("effect key", key)
        self._codec = codec
        self._prompt = prompt
        others = not_done if isinstance(not_done, tuple) else (not_done,)
        self._not_done: tuple[type[Exception], ...] = (EffectNotDone, *others)

    async def make(self, effect: Callable[[], Any], on_unknown: Callable[[], Any] | None) -> Any:
        """Do it, unless it is done, or in doubt.

        Raises:
            OutcomeUnknown: It is in doubt.
            EffectUnderWay: It is being done.
        """
        if not self._ledger.begin(self._place, self._key):
            raise EffectUnderWay(self._key, self._path)
        try:
            return await self._make(effect, on_unknown)
        finally:
            self._ledger.finish(self._place, self._key)

    async def _make(self, effect: Callable[[], Any], on_unknown: Callable[[], Any] | None) -> Any:
        known = self._ledger.effect(self._place, self._key)
        if known is None:
            await self._note(EffectStatus.INTENT)
        elif known.status is EffectStatus.DONE:
            return self._codec.load(known.value or b"null")
        elif on_unknown is None:
            raise self._unknown()
        else:
            with suppress(EffectNotDone):  # then it is done now, on the intent that is saved
                return await self._call(on_unknown, not_done=EffectNotDone)
        try:
            return await self._call(effect, not_done=self._not_done)
        except self._not_done:
            await self._note(EffectStatus.UNDONE)
            raise

    async def _call(self, function: Callable[[], Any], *, not_done: NotDone) -> Any:
        """What a function returns, saved; only errors that say "not done" get by."""
        try:
            value = function()
            if inspect.isawaitable(value):
                value = await value
            where = f"what effect {self._key!r} of {self._path} returned"
            blobs = self._attached()
            data = self._codec.dump(value, where, blobs)
            if self._secrets.has_any:
                self._secrets.check(data, where)
        except not_done:
            raise
        except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
            self._doubt()  # also if it was cancelled, by the step's time limit for one: the step may go on
            failure = own_failure(error)
            raise OutcomeUnknown(self._key, self._path) from failure
        await self._note(EffectStatus.DONE, data, blobs)
        return self._codec.load(data)

    async def _note(self, status: EffectStatus, value: bytes | None = None, blobs: Attachments | None = None) -> None:
        await self._ledger.note(Effect(self._place, self._key, status, value), blobs)

    def _unknown(self) -> OutcomeUnknown:
        self._doubt()
        return OutcomeUnknown(self._key, self._path)

    def _doubt(self) -> None:
        if self._ledger.is_durable:
            self._ledger.doubt(self._place, Parks(WaitKind.EFFECT, self._key, prompt=self._prompt))
