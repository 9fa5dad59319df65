"""Verbs of pages: what they show of a run beside what everybody is told."""

from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

from pydantic_core import to_jsonable_python

from stagepost.checkpoint import CheckpointError
from stagepost.workflows import WorkflowError

from .._wire._inspected import ActList, StateAt, WaitSchema
from .._wire._made_inspected import check_found, state_at
from .._wire._store import CheckFound
from ._acts import read_acts
from ._inspected import Inspected, told
from ._reading import Reading
from ._scopes import verb
from ._versions import version_of

LISTED: Final = 200  # findings of a check


class Inspecting(Reading):
    """The part of `Verbs` that only pages need."""

    @verb
    async def inspect(self, run_id: str) -> Inspected:
        """A run with what has happened to it.

        Raises:
            RunNotFound: There is no such run.
        """
        store = self._runner.store
        snapshot = await store.load(run_id)
        return Inspected(await self._all_of(snapshot), snapshot, await told(store, run_id))

    @verb
    async def state(self, run_id: str, number: int) -> StateAt:
        """The state of a run as it was at a number of its history.

        Raises:
            RunNotFound: There is no such run.
            NotInHistory: Its history has no such number.
        """
        return state_at(number, await self._runner.store.load(run_id, at=number or None))

    @verb
    async def schema(self, wait_id: str) -> WaitSchema:
        """What a wait takes, as far as it is known here."""
        with suppress(WorkflowError, CheckpointError):
            return WaitSchema(known=to_jsonable_python(await self._runner.schema(wait_id)))
        return WaitSchema(known=None)

    @verb
    async def check(self) -> CheckFound:
        """What this code would do with each open run: the gate before a deploy."""
        return check_found(await self._runner.check(limit=LISTED))

    @verb
    async def version(self) -> int | None:
        """A number that changes with each commit to the store; None if the store has none."""
        read = version_of(self._runner.store)
        return None if read is None else await read()

    @verb
    async def bell(self, run_id: str) -> AsyncGenerator[None, None]:
        """Rings when something of a run, or of those below it, may have changed.

        Raises:
            RunnerStopped: The service ends.
        """
        with self._runner.listen(run_id, buffer=0) as listening:
            while True:
                await listening.next()
                yield

    @verb
    async def acts(self, run_id: str) -> ActList:
        """What was done to a run, and by whom."""
        return await read_acts(self._runner.store, run_id)
