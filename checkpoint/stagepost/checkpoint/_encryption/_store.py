"""A store that keeps what users have made encrypted, in any other store."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from .._happening import Happening
from .._ownership import Change, Owner
from .._pages import Page
from .._records import Commit, Lease, Migrated, NewRun, Shape
from .._schedules import DueSchedules, StoredSchedule
from .._snapshots import RunInfo
from .._store import CheckpointStore
from .._tables import Statement
from .._waiting import NewWait, StoredWait
from ..errors import CannotDecrypt, StoreError
from ._inbox import EncryptedInbox, EncryptedWords, Writable
from ._keys import Keys
from ._reader import EncryptedReader, Readable


class EncryptedStore(EncryptedWords[CheckpointStore]):
    """Encrypts what users have made before another store gets it, and keeps the whole protocol of stores.

    ::

        async with EncryptedStore(SqliteStore("runs.db"), keys=key) as store, Runner(store) as runner: ...

    Encrypted are states, inputs, results, items, prompts, answers, signals, results of effects, bytes, the history of
    all that, and the texts of errors. Readable stay ids, names and versions of workflows, paths of steps, names of
    keys in states, start keys, labels, who has answered, trace ids, times, sizes, digests of bytes, and tables of the
    application.

    Args:
        store: Where they are kept; it is entered and left with this one.
        keys: One key, or several: the first one encrypts, each of them reads. Each has 16, 24 or 32 bytes (AES-GCM).
        plain: Whether values that are not encrypted are read as they are: for a store that was used without encryption
            before.

    Raises:
        TypeError: One is no bytes.
        ValueError: There is no key, or one is of another length.
        EncryptionNotInstalled: The extra ``encryption`` is missing.
        CannotDecrypt: The run that was started last is encrypted by another key, or not encrypted (on entering).
    """

    def __init__(self, store: CheckpointStore, *, keys: bytes | Sequence[bytes], plain: bool = False) -> None:
        super().__init__(store, Keys(keys, plain=plain))

    def reader(self, reader: Readable) -> EncryptedReader:
        """Read a file with the keys of this store, which need not be entered.

        Args:
            reader: What `SqliteStore.reader` gives, or another one.
        """
        return EncryptedReader._with(reader, self._keys)  # noqa: SLF001  # of this package: who holds the keys gives them on

    def inbox(self, inbox: Writable) -> EncryptedInbox:
        """Read a file and write for its runs with the keys of this store, which need not be entered.

        Args:
            inbox: What `SqliteStore.inbox` gives, or another one.
        """
        return EncryptedInbox._with(inbox, self._keys)  # noqa: SLF001  # as above

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        try:
            await self._check_keys()
        except BaseException as error:
            await self._inner.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)

    async def _check_keys(self) -> None:
        for error in (await self.find(newest_first=True, limit=1)).damaged:
            if isinstance(error, CannotDecrypt):
                raise error

    async def failure(self) -> StoreError:
        """Wait until the store takes nothing more, for good, and say why."""
        return await self._inner.failure()

    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        """Store a new run with its first frame, once."""
        lease, info = await self._inner.create(self._sealing.of(run.run_id).run(run))
        return lease, self._opening.info(info)

    async def commit(self, commit: Commit) -> None:
        """Save one change of a run."""
        await self._inner.commit(self._sealing.of(commit.lease.run_id).commit(commit))

    async def wait(self, lease: Lease, wait: NewWait) -> StoredWait:
        """Open a wait of a run."""
        opened = await self._inner.wait(lease, self._sealing.of(lease.run_id).wait(wait))
        return self._opening.wait(lease.run_id, opened)

    async def park(self, lease: Lease, heard: int) -> bool:
        """Let a run rest until one of its waits ends."""
        return await self._inner.park(lease, heard)

    async def reopen(self, lease: Lease, place: str, why: str) -> StoredWait:
        """Drop what has ended a wait."""
        reopened = await self._inner.reopen(lease, place, self._sealing.of(lease.run_id).text(why))
        return self._opening.wait(lease.run_id, reopened)

    async def migrate(self, lease: Lease, migrated: Migrated) -> None:
        """Make a run one of another version of its workflow."""
        await self._inner.migrate(lease, self._sealing.of(lease.run_id).migrated(migrated))

    async def join(self, name: str) -> Owner:
        """Become an owner."""
        return await self._inner.join(name)

    async def heartbeat(self, owner: Owner) -> bool:
        """Say that an owner lives."""
        return await self._inner.heartbeat(owner)

    async def probe(self) -> None:
        """See that the store takes writes."""
        await self._inner.probe()

    async def acquire(self, owner: Owner, *, after: str | None = None, limit: int = 100) -> Page[RunInfo]:
        """Running runs that no living owner has."""
        return self._infos(await self._inner.acquire(owner, after=after, limit=limit))

    async def claim(
        self,
        owner: Owner,
        run_id: str,
        *,
        reopen: bool = False,
        force: bool = False,
        counts: bool = True,
        shape: Shape | None = None,
        begins: Sequence[Happening] = (),
    ) -> Lease:
        """Become the owner of an open run."""
        sealed = self._sealing.of(run_id).happened(begins)
        return await self._inner.claim(
            owner, run_id, reopen=reopen, force=force, counts=counts, shape=shape, begins=sealed
        )

    def changes(self, owner: Owner) -> AsyncIterator[Change]:
        """What was written from outside."""
        return self._inner.changes(owner)

    async def heard(self, owner: Owner, news: Mapping[str, int]) -> None:
        """Say that an owner was told of changes."""
        await self._inner.heard(owner, news)

    async def block(self, owner: Owner, run_id: str, why: str | None) -> None:
        """Write down why nobody can go on with a run."""
        await self._inner.block(owner, run_id, None if why is None else self._sealing.of(run_id).text(why))

    async def leave(self, owner: Owner) -> None:
        """Be an owner no longer."""
        await self._inner.leave(owner)

    async def delete(self, run_id: str) -> None:
        """Forget a run that has ended."""
        await self._inner.delete(run_id)

    async def prune(self, before: datetime, *, limit: int = 100) -> int:
        """Delete runs that ended before a time."""
        return await self._inner.prune(before, limit=limit)

    async def prune_keys(self, before: datetime, *, limit: int = 100) -> int:
        """Free keys and ids of deleted runs that ended before a time."""
        return await self._inner.prune_keys(before, limit=limit)

    async def execute(self, *statements: Statement) -> None:
        """Execute statements on tables of the application, which are not encrypted."""
        await self._inner.execute(*statements)

    async def due_schedules(self, now: datetime, *, limit: int = 100) -> DueSchedules:
        """Schedules to look at, and when to look again."""
        asked = limit
        while True:  # those that cannot be opened do not count, so that they hide no others
            found = await self._inner.due_schedules(now, limit=asked)
            opened, damaged = self._opening.schedules(found.items)
            if len(opened) >= limit or found.following is None or found.following > now:
                break
            asked *= 2
        following = opened[limit].look_at if len(opened) > limit else found.following
        return DueSchedules(opened[:limit], following, (*found.damaged, *damaged))

    async def save_schedule(self, schedule: StoredSchedule) -> StoredSchedule:
        """Save a schedule."""
        return self._opening.schedule(await self._inner.save_schedule(self._sealing.schedule(schedule)))

    async def delete_schedule(self, key: str) -> None:
        """Forget a schedule."""
        await self._inner.delete_schedule(key)

    async def admit(self, counted: Collection[str], now: datetime, *, before: datetime) -> None:
        """Write down that a run was taken up."""
        await self._inner.admit(counted, now, before=before)

    async def admissions(self, since: datetime) -> Sequence[tuple[str, datetime]]:
        """When runs were taken up."""
        return await self._inner.admissions(since)
