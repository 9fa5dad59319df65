"""The protocol on top of SQL: what a store has to add is how a piece of work and a query reach its connection."""

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from .._labels import check_labels
from .._limits import Limits
from .._records import Commit, Keep, Lease, Migrated, NewRun, RunInfo, Shape
from .._tables import Statement
from .._waiting import Due, NewWait, Wait
from . import _keys as keys
from . import _retention as retention
from . import _statements as statements
from . import _waits as waits
from ._applications import Application, Checked
from ._changes import changes_of
from ._connect import Connection
from ._creating import Creation
from ._migrating import migrate
from ._queries import ended_query, old_keys_query
from ._reading import Reading
from ._times import to_micros

T = TypeVar("T")

_NONE: Final = Keep.NONE  # to look up a member of an enum takes long for what each step does


class Runs(Reading):
    """Keeps runs in tables.

    Args:
        clock: Seconds since 1970, for the times that runs carry.
        limits: How large values may be.
    """

    def __init__(self, clock: Callable[[], float], limits: Limits) -> None:
        self._clock = clock
        self._checked = Checked()
        self.limits = limits

    @abstractmethod
    async def _write(self, work: Callable[[Connection], T]) -> T:
        """Run work in a transaction."""

    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        """Store a new run with its first frame, once."""
        if run.labels:
            check_labels(run.labels)
        return await self._write(Creation(run, self._now()))

    async def claim(
        self,
        run_id: str,
        owner: str,
        *,
        reopen: bool = False,
        recovering: bool = False,
        shape: Shape | None = None,
    ) -> Lease:
        """Become the owner of an open run, or with `reopen` of a failed one."""
        return await self._write(
            partial(statements.claim, run_id=run_id, owner=owner, reopen=reopen, recovering=recovering, shape=shape)
        )

    async def migrate(self, lease: Lease, migrated: Migrated) -> None:
        """Make a run one of another version of its workflow."""
        await self._write(partial(migrate, lease=lease, migrated=migrated, now=self._now()))

    async def cancel(self, run_id: str) -> None:
        """Ask for the end of an open run."""
        await self._write(partial(statements.cancel, run_id=run_id))

    def commit(self, commit: Commit) -> Coroutine[Any, Any, None]:
        """Save one change of a run."""
        now = int(self._clock() * 1_000_000 + 0.5)  # written out, and not awaited here, as each step of a run comes by
        if commit.also or (commit.lease.keep is _NONE and statements.is_forgotten(commit)):
            return self._write(partial(statements.commit_with_more, change=commit, now=now, checked=self._checked))
        return self._write(changes_of(commit, now))

    async def wait(self, lease: Lease, wait: NewWait) -> Wait:
        """Open a wait of a run."""
        return await self._write(partial(waits.open_wait, lease=lease, wait=wait, now=self._now()))

    async def park(self, lease: Lease, heard: int) -> bool:
        """Let a run rest until one of its waits ends."""
        return await self._write(partial(waits.park, lease=lease, heard=heard))

    async def answer(
        self, run_id: str, place: str, value: bytes, *, name: str | None = None, by: str | None = None
    ) -> None:
        """Answer a wait."""
        await self._write(
            partial(waits.answer, run_id=run_id, place=place, value=value, name=name, by=by, now=self._now())
        )

    async def signal(self, run_id: str, name: str, value: bytes, *, dedup: str | None = None) -> bool:
        """Send a signal to a run."""
        return await self._write(
            partial(waits.signal, run_id=run_id, name=name, value=value, dedup=dedup, now=self._now())
        )

    async def expire(self, now: float, limit: int = 100) -> Due:
        """End the waits that are due."""
        return await self._write(partial(waits.expire, now=to_micros(now), limit=limit))

    async def release(self, child: str) -> Sequence[str]:
        """End the waits for another run."""
        return await self._write(partial(waits.release, child=child, now=self._now()))

    async def settle(self, run_id: str, place: str, key: str, value: bytes | None) -> None:
        """Say what became of an effect in doubt."""
        await self._write(partial(waits.settle, run_id=run_id, place=place, key=key, value=value, now=self._now()))

    async def delete(self, run_id: str) -> None:
        """Forget a run that has ended."""
        await self._write(partial(retention.delete, run_id=run_id))

    async def prune(self, before: datetime, *, limit: int = 100) -> int:
        """Delete runs that ended before a time."""
        micros = to_micros(before.timestamp())
        if not await self._read(ended_query(micros)):  # asked every hour, and there is seldom anything to write
            return 0
        return await self._write(partial(retention.prune, before=micros, limit=limit))

    async def prune_keys(self, before: datetime, *, limit: int = 100) -> int:
        """Forget keys and ids of runs that ended before a time."""
        micros = to_micros(before.timestamp())
        if not await self._read(old_keys_query(micros)):
            return 0
        return await self._write(partial(keys.prune_keys, before=micros, limit=limit))

    async def execute(self, *statements: Statement) -> None:
        """Execute statements on tables of the application in one transaction."""
        await self._write(Application(statements, self._checked))

    def _now(self) -> int:
        return to_micros(self._clock())
