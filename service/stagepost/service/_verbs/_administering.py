"""Verbs of those who run the service."""

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from .._wire._done import Done
from .._wire._workflows import RunStarted
from ._acts import recorded
from ._base import Base, done
from ._running import started
from ._scopes import misuse, verb


class Administering(Base):
    """The part of `Verbs` for those who run the service."""

    @recorded
    async def fork(
        self,
        run_id: str,
        *,
        at: int | str | None = None,
        changes: Mapping[str, JsonValue] | None = None,
        effects: Literal["again", "keep"] | None = None,
        new_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> RunStarted:
        """Make a new run that goes on where another one stands, or has stood.

        Raises:
            RunNotFound: There is no such run.
            NotInHistory: Its history has no such number.
            ForkRefused: No step of this path has completed, as far as is known.
            EffectsAgain: Effects would happen again, and `effects` does not say so.
            RunConflict: The new id is taken.
        """
        with misuse():
            run = await self._runner.fork(
                run_id, at=at, changes=changes, effects=effects, run_id=new_id, labels=labels or None
            )
        return started(run)

    @recorded
    async def retry_items(
        self,
        run_id: str,
        *,
        path: str | None = None,
        new_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> RunStarted:
        """Fork a run at a fan-out, so that its failed items run again.

        Raises:
            RunNotFound: There is no such run.
            ForkRefused: No item has failed there, as far as is known.
        """
        with misuse():
            run = await self._runner.retry_items(run_id, path=path, run_id=new_id, labels=labels or None)
        return started(run)

    @recorded
    async def delete(self, run_id: str) -> Done:
        """Delete a run that has ended, for good.

        Raises:
            RunNotFound: There is none.
            RunNotEnded: It is open.
        """
        await self._runner.runs.delete(run_id)
        return done("deleted", run_id)

    @verb
    async def pause_schedule(self, key: str) -> Done:
        """Start no runs of a schedule until it is resumed.

        Raises:
            ScheduleNotFound: There is none.
        """
        await self._runner.schedules.pause(key)
        return done("paused", key)

    @verb
    async def resume_schedule(self, key: str) -> Done:
        """Start runs of a schedule again, from its next time on.

        Raises:
            ScheduleNotFound: There is none.
        """
        schedule = await self._runner.schedules.resume(key)
        return done("resumed", key).model_copy(update={"next_due": schedule.next_due})

    @verb
    async def delete_schedule(self, key: str) -> Done:
        """Forget a schedule.

        Raises:
            ScheduleNotFound: There is none.
        """
        await self._runner.schedules.delete(key)
        return done("deleted", key)
