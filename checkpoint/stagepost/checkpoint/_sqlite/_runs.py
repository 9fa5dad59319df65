"""The whole protocol on top of SQL: what a store has to add is how work and queries reach its connection."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any, Final, TypeVar

from anyio import sleep

from .._feed import Feed
from .._happening import Happening
from .._labels import check_labels
from .._limits import Limits
from .._ownership import Change, Lost, Owner
from .._pages import Page
from .._records import Commit, Keep, Lease, Migrated, NewRun, Shape
from .._snapshots import RunInfo
from .._tables import Statement
from .._waiting import NewWait, StoredWait
from ..errors import CorruptRun
from . import _keys as keys
from . import _owners as owners
from . import _retention as retention
from . import _statements as statements
from . import _waits as waits
from ._applications import Application, Checked
from ._batch import Uncascaded
from ._changes import changes_of
from ._connect import Connection
from ._creating import Creation
from ._finding import search_free
from ._inbox import Closed, SqlInbox
from ._migrating import migrate
from ._queries import LEAVINGS, Row, ended_query, old_keys_query
from ._ranges import Turn
from ._rows import to_micros, to_run
from ._scheduling import Scheduling

T = TypeVar("T")

_REST: Final = 0.015  # seconds between two transactions that delete: commits have the rest of the time
_NONE: Final = Keep.NONE  # to look up a member of an enum takes long for what each step does


class SqlRuns(SqlInbox, Scheduling):
    """Keeps runs in tables.

    Args:
        clock: Seconds since 1970, for the times that runs carry.
        limits: How large values may be.
        name: What the store is called, for errors.
        owners: How many may live at once.
        ttl: Seconds after which an owner is dead without a heartbeat; None: it needs none.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        limits: Limits,
        name: str,
        *,
        owners: int = 1,
        ttl: float | None = None,
    ) -> None:
        super().__init__(clock, limits, Closed(name))
        self._name = name
        self._most = owners
        self._ttl = ttl
        self._checked = Checked()
        self._joined: set[int] = set()  # numbers of those that live, if they need no heartbeat
        self._feeds: dict[int, Feed] = {}  # by number of the owner

    @abstractmethod
    async def _listen(self, owner: Owner, feed: Feed) -> None:
        """From now on put into a feed whatever is written for runs."""

    def _stop_listening(self, feed: Feed) -> None:
        """Put nothing more into a feed."""

    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        """Store a new run with its first frame, once."""
        if run.labels:
            check_labels(run.labels)
        creation = Creation(run, self._now())
        if self._ttl is None:
            return await self._write(creation, patient=False)
        return await self._burying(partial(owners.create, owner=run.owner, creation=creation))

    async def migrate(self, lease: Lease, migrated: Migrated) -> None:
        """Make a run one of another version of its workflow."""
        await self._write(partial(migrate, lease=lease, migrated=migrated, now=self._now()))

    def commit(self, commit: Commit) -> Coroutine[Any, Any, None]:
        """Save one change of a run."""
        now = int(self._clock() * 1_000_000 + 0.5)  # written out, and not awaited here, as each step of a run comes by
        gives_up = commit.joined is not None and bool(commit.joined.lost)
        is_forgotten = commit.lease.keep is _NONE and statements.is_forgotten(commit)
        if commit.also or gives_up or is_forgotten:
            work = partial(statements.commit_with_more, change=commit, now=now, checked=self._checked)
            if is_forgotten:
                return self._then_sweep(self._sink.write(work if commit.also else Uncascaded(work), tells=gives_up))
            return self._sink.write(work, tells=gives_up)
        return self._sink.write(changes_of(commit, now))

    async def wait(self, lease: Lease, wait: NewWait) -> StoredWait:
        """Open a wait of a run."""
        return await self._write(partial(waits.open_wait, lease=lease, wait=wait, now=self._now()))

    async def reopen(self, lease: Lease, place: str, why: str) -> StoredWait:
        """Drop what has ended a wait."""
        return await self._write(partial(waits.reopen, lease=lease, place=place, why=why, now=self._now()))

    async def park(self, lease: Lease, heard: int) -> bool:
        """Let a run rest until one of its waits ends."""
        return await self._write(partial(waits.park, lease=lease, heard=heard))

    async def join(self, name: str) -> Owner:
        """Become an owner."""
        number = await self._burying(partial(self._join, name=name))
        return Owner(number, name, self._ttl)

    async def heartbeat(self, owner: Owner) -> bool:
        """Say that an owner lives."""
        if self._ttl is None:
            return owner.id in self._joined
        return await self._burying(partial(owners.beat, owner=owner, expires_at=self._expiry()))

    async def probe(self) -> None:
        """See that the store takes writes."""
        await self._write(owners.probe, patient=False)

    async def acquire(self, owner: Owner, *, after: str | None = None, limit: int = 100) -> Page[RunInfo]:
        """Running runs that no living owner has."""
        if self._ttl is None:
            return await self._page(partial(search_free, owner.id), Turn(after=after), to_run, limit)
        return _page_of(
            await self._burying(partial(owners.acquire, owner=owner, after=after or "", limit=limit)), limit
        )

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
        """Become the owner of an open run, or with `reopen` of a failed one."""
        claim = partial(owners.claim, owner=owner, run_id=run_id, reopen=reopen, force=force, counts=counts)
        work = partial(claim, shape=shape, begins=begins, now=to_micros(self._clock()))
        lease, before = await (self._write if self._ttl is None else self._burying)(work)
        if before != owner.id and before in self._feeds:
            self._feeds[before].put([Lost(run_id)])
        return lease

    def changes(self, owner: Owner) -> AsyncIterator[Change]:
        """What was written for runs."""
        feed = self._feeds[owner.id] = Feed(partial(self._listen, owner))
        return feed

    async def heard(self, owner: Owner, news: Mapping[str, int]) -> None:
        """Say that an owner was told of changes."""
        await self._write(partial(owners.heard, owner=owner, news=dict(news), is_alone=self._most == 1))

    async def block(self, owner: Owner, run_id: str, why: str | None) -> None:
        """Write down why nobody can go on with a run."""
        await self._write(partial(owners.block, owner=owner, run_id=run_id, why=why))

    async def leave(self, owner: Owner) -> None:
        """Be an owner no longer."""
        self._joined.discard(owner.id)
        self._end_feed(owner.id)
        await self._tell(partial(owners.leave, owner=owner, tell=self._most > 1))

    async def delete(self, run_id: str) -> None:
        """Forget a run that has ended."""
        await self._write(Uncascaded(partial(retention.delete, run_id=run_id)), patient=False)
        await self._sweep()

    async def prune(self, before: datetime, *, limit: int = 100) -> int:
        """Delete runs that ended before a time."""
        await self._sweep()
        micros = to_micros(before.timestamp())
        if not await self._read(ended_query(micros)):  # asked every hour, and there is seldom anything to write
            return 0
        done = 0
        while done < limit:
            work = partial(retention.prune, before=micros, limit=limit - done)
            runs, is_all = await self._write(Uncascaded(work), patient=False)
            done += runs
            if is_all:
                break
            await sleep(_REST)
        await self._sweep()
        return done

    async def _then_sweep(self, written: Coroutine[Any, Any, None]) -> None:
        await written
        await self._sweep()

    async def _sweep(self) -> None:
        """Delete what long lists have left, in slices."""
        is_more = bool(await self._read(LEAVINGS))
        while is_more:
            is_more = await self._write(retention.go_on, patient=False)
            await sleep(_REST)

    async def prune_keys(self, before: datetime, *, limit: int = 100) -> int:
        """Forget keys and ids of runs that ended before a time."""
        micros = to_micros(before.timestamp())
        if not await self._read(old_keys_query(micros)):
            return 0
        return await self._write(partial(keys.prune_keys, before=micros, limit=limit), patient=False)

    def _end_feeds(self) -> None:
        """The store is left: nobody is told anything more, and nobody is its owner."""
        self._joined.clear()
        for number in tuple(self._feeds):
            self._end_feed(number)

    def _write(self, work: Callable[[Connection], T], *, patient: bool = True) -> Coroutine[Any, Any, T]:
        return self._sink.write(work, patient=patient)

    async def execute(self, *statements: Statement) -> None:
        """Execute statements on tables of the application in one transaction."""
        await self._write(Application(statements, self._checked), patient=False)

    async def _burying(self, work: Callable[[Connection], T]) -> T:
        """Run work after those are dead whose heartbeats have not come, and tell them what they have lost."""
        done = partial(self._after_burying, work=work, now=self._now())
        lost, result = await self._tell(done)
        self._take(lost)
        return result

    def _after_burying(
        self, connection: Connection, work: Callable[[Connection], T], now: int
    ) -> tuple[Mapping[int, Sequence[Lost]], T]:
        return owners.bury(connection, now, self._joined, is_alone=self._ttl is None), work(connection)

    def _join(self, connection: Connection, name: str) -> int:
        number = owners.join(connection, name, store=self._name, most=self._most, expires_at=self._expiry())
        if self._ttl is None:
            self._joined.add(number)
        return number

    def _expiry(self) -> int | None:
        return None if self._ttl is None else self._now() + to_micros(self._ttl)

    def _take(self, lost: Mapping[int, Sequence[Lost]]) -> None:
        """Tell owners that are dead, if they listen, what they have lost; they are told nothing more."""
        for number, changes in lost.items():
            self._end_feed(number, changes)

    def _end_feed(self, number: int, last: Sequence[Lost] | None = None) -> None:
        """Tell an owner what it has lost, and nothing after that; None if it has left by itself, and hears nothing."""
        feed = self._feeds.pop(number, None)
        if feed is not None:
            self._stop_listening(feed)
            feed.put(last or ())
            feed.close(silently=last is None)


def _page_of(rows: Sequence[Row], limit: int) -> Page[RunInfo]:
    """Runs that were changed, which come in no order."""
    found, damaged = list[RunInfo](), list[CorruptRun]()
    for row in sorted(rows, key=itemgetter(0)):
        try:
            found.append(to_run(row))
        except CorruptRun as error:
            damaged.append(error)
    following = str(max(row[0] for row in rows)) if len(rows) == limit else None
    return Page(tuple(found), following, tuple(damaged))
