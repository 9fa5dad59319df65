"""Verbs of those who decide what runs wait for."""

from typing import Any

from pydantic import JsonValue

from stagepost.checkpoint import WaitKind, WaitNotFound

from .._keys._caller import Caller
from .._wire._done import Done
from ._acts import recorded
from ._asking import as_asked
from ._base import Base, done
from ._scopes import misuse, verb_by


class Deciding(Base):
    """The part of `Verbs` that decides what runs wait for."""

    @verb_by
    async def answer(self, caller: Caller, wait_id: str, value: Any) -> Done:
        """Answer a wait: with a value, or with a verdict on an agent's call (`stagepost.service._wire._asked.verdict`).

        The name of the caller's key is stored with it.

        Raises:
            WaitNotFound: Nothing waits there for an answer.
            AlreadyAnswered: Another answer came first, or the time was up.
            CannotStore: It is no valid answer; the wait stays open.
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
            RunLeftOpen: The run cannot go on.
        """
        waits = await self._runner.waits(wait_id.partition("/")[0], kind=WaitKind.ANSWER)
        asked = next((each for each in waits if each.id == wait_id), None)
        await self._runner.answer(wait_id, value if asked is None else as_asked(asked.shown, value), by=caller.name)
        return done("answered", wait_id)

    @recorded
    async def settle(
        self,
        run_id: str,
        key: str,
        *,
        value: JsonValue = None,
        retry: bool = False,
        place: str | None = None,
    ) -> Done:
        """Say what became of an effect in doubt.

        Raises:
            InputRefused: Several steps are in doubt about an effect of this key, and no `place` was given.
            EffectNotFound: The run waits for no word of such an effect.
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
        """
        with misuse():
            await self._runner.settle(run_id, key, value=value, retry=retry, place=place)
        return done("settled", run_id)

    @recorded
    async def settle_wait(self, wait_id: str, *, value: JsonValue = None, retry: bool = False) -> Done:
        """Say what became of an effect in doubt, by the id of the wait: whoever is shown it needs to know nothing else.

        Raises:
            WaitNotFound: No effect is in doubt there (any more).
            CannotStore: The value shows a secret.
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
            RunLeftOpen: The run cannot go on.
        """
        run_id, _, place = wait_id.partition("/")
        waits = await self._runner.waits(run_id, kind=WaitKind.EFFECT)
        wait = next((each for each in waits if each.id == wait_id), None)
        if wait is None:
            raise WaitNotFound(
                run_id, place, "no effect is in doubt there any more: somebody has settled it, or none was"
            )
        await self._runner.settle(wait.run_id, wait.name, value=value, retry=retry, place=wait.place)
        return done("settled", wait_id)
