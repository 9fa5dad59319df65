"""What anybody may read."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias, Unpack

from ._filters import CountBy, Counts, RunFilters
from ._happenings import Happenings
from ._outside import Ref
from ._pages import Page, Unreadable
from ._snapshots import RunInfo, Version
from ._waiting import OpenWait, SentSignal, WaitKind
from .errors import CorruptBlob, CorruptStore, OrphanedRows, UnusedBlobs, UnusedLists

Progress: TypeAlias = Callable[[int, int], Awaitable[None]]
Damage: TypeAlias = Unreadable | CorruptBlob | CorruptStore | OrphanedRows | UnusedBlobs | UnusedLists


class Catalogue(Protocol):
    """Which runs there are, and what they wait for, were sent, and were before."""

    async def info(self, run_id: str) -> RunInfo:
        """What is known of a run without its state.

        Raises:
            RunNotFound: There is none.
        """
        ...

    async def find(
        self,
        *,
        newest_first: bool = False,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
        **filters: Unpack[RunFilters],
    ) -> Page[RunInfo]:
        """Runs in the order in which they were started, whatever has become of them since.

        With ``text=`` they come in the order in which they were stored; else with ``below=`` in that of their ids, and
        with ``ended_since=`` or ``ended_until=`` in that of their ends.

        A page by one filter takes as long whatever it matches. Of several together at most 20,000 runs are looked at
        for a page; then it ends with what was found, and `Page.next` goes on from there. Runs that are stored or
        deleted meanwhile shift no page: of the others each is on one page.

        Args:
            newest_first: Begin with the last one.
            after: Only what comes after this: `Page.next` of a page, for the one that follows it.
            before: Only what comes before this, as far as there is room for it: `Page.previous` of a page, for the one
                that precedes it. In the same order.
            limit: At most so many.
            filters: Which runs; see `RunFilters`.

        Returns:
            A page; runs of which not even this can be read are in `Page.damaged`.

        Raises:
            ValueError: A cursor is none of such a page, or two are given.
        """
        ...

    async def count(self, *, by: CountBy | None = None, **filters: Unpack[RunFilters]) -> Counts:
        """How many runs there are, as of one moment.

        With one filter only the entries of an index are counted; with several the runs of one of them are read.

        Args:
            by: Also by their status, or by their workflow.
            filters: Which runs; see `RunFilters`.
        """
        ...

    async def stored(self, after: str | None = None, *, limit: int = 100) -> Page[RunInfo]:
        """Runs in the order in which they were stored, which no change of a clock affects, for whoever follows them.

        Args:
            after: `Page.next` of the page before, however long ago that was, or what `last_stored` has returned.
            limit: At most so many.

        Returns:
            A page. Its `next` is never None: it is where runs begin that were not stored by then.
        """
        ...

    async def last_stored(self) -> str:
        """Where runs begin that are not stored yet, for `stored`."""
        ...

    async def waits(
        self,
        *,
        run_id: str | None = None,
        below: str | None = None,
        kind: WaitKind | None = None,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> Page[OpenWait]:
        """Open waits of open runs, in the order of ``run_id/place``.

        Args:
            run_id: Only those of this run.
            below: Only those of the runs whose ids begin with this one and a dot: a step of it has started them, or a
                step of such a run.
            kind: Only waits of this kind.
            after: Only those after this: `next` of a page, for the one that follows it, or ``run_id/place``.
            before: Only those up to this: `previous` of a page, for the one that precedes it.
            limit: At most so many.
        """
        ...

    async def signals(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Page[SentSignal]:
        """Signals that were sent to a run, also those that it has received, in the order in which they were sent.

        Args:
            run_id: The run; one that is unknown was sent none.
            after: Only those after this: `next` of the page before, or the number of a signal.
            limit: At most so many.

        Raises:
            CorruptRun: One is not what was sent.
        """
        ...

    async def history(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Page[Version]:
        """Versions that the frames of a run had, in the order in which they were saved, if the run keeps all.

        Args:
            run_id: The run.
            after: Only those after this: `next` of the page before, or the number of a version.
            limit: At most so many.

        Raises:
            RunNotFound: There is none.
        """
        ...

    async def happenings(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Happenings:
        """What has happened to a run that keeps all, in the order in which it was stored, and what is under way.

        Runs that do not keep all have none of it.

        Args:
            run_id: The run.
            after: Only what came after this: `next` of the page before, or `Happened.number`.
            limit: At most so many.

        Raises:
            RunNotFound: There is none.
            CorruptRun: It is not what was written.
        """
        ...

    async def value(self, run_id: str, path: str, ref: Ref, *, after: int = 0) -> bytes:
        """JSON of a value that has rows of its own, as a frame or an earlier version of it refers to it.

        Args:
            run_id: The run.
            path: Path of the frame.
            ref: `Frame.refs` names it. Of a list it says how many elements belong to it.
            after: How many elements of a list to leave out.

        Raises:
            RunNotFound: There is none.
            CorruptRun: The value is gone, or elements are.
        """
        ...

    async def verify(self, progress: Progress | None = None) -> Sequence[Damage]:
        """Read every run, and tell what was found of those that are damaged, or that somebody has changed by hand.

        Nobody waits for it, and memory does not grow with the number of runs. Schedules are looked at, too.

        Args:
            progress: Awaited now and then with how many runs were read, and how many there were at the beginning. What
                is not of runs is looked at after the last of them.

        Raises:
            StoreFailed: The list of the runs itself is damaged.
        """
        ...
