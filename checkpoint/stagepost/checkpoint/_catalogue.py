"""What anybody may read."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Protocol, TypeAlias

from ._pages import Page
from ._records import RunStatus
from ._snapshots import RunInfo, Version
from ._waiting import OpenWait, SentSignal, WaitKind
from .errors import CorruptBlob, CorruptRun, CorruptStore, OrphanedRows, UnusedBlobs, UnusedLists

Progress: TypeAlias = Callable[[int, int], Awaitable[None]]
Damage: TypeAlias = CorruptRun | CorruptBlob | CorruptStore | OrphanedRows | UnusedBlobs | UnusedLists


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
        status: RunStatus | Collection[RunStatus] | None = None,
        workflow: str | None = None,
        key: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        below: str | None = None,
        labels: Mapping[str, str] = MappingProxyType({}),
        newest_first: bool = False,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[RunInfo]:
        """Runs in the order in which they were started, whatever has become of them since.

        A page by one filter takes as long whatever it matches. Of several together at most 20,000 runs are looked at
        for a page; then it ends with what was found, and `Page.next` goes on from there.

        Args:
            status: Only those with this status, or one of these.
            workflow: Only those of this workflow.
            key: Only those that were started with this key.
            since: Only those that were started at this time or later.
            until: Only those that were started before this time.
            labels: Only those with all of these labels.
            below: Only those whose ids begin with this one and a dot, which steps of that run have started, or steps of
                such runs; in the order of their ids.
            newest_first: Begin with the last one.
            after: `Page.next` of the page before.
            limit: At most so many.

        Returns:
            A page; runs of which not even this can be read are in `Page.damaged`.
        """
        ...

    async def waits(
        self,
        *,
        run_id: str | None = None,
        below: str | None = None,
        kind: WaitKind | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[OpenWait]:
        """Open waits of open runs, in the order of ``run_id/place``.

        Args:
            run_id: Only those of this run.
            below: Only those of the runs whose ids begin with this one and a dot: a step of it has started them, or a
                step of such a run.
            kind: Only waits of this kind.
            after: Only those after this: `next` of the page before, or ``run_id/place``.
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

    async def verify(self, progress: Progress | None = None) -> Sequence[Damage]:
        """Read every run, and tell what was found of those that are damaged, or that somebody has changed by hand.

        Nobody waits for it, and memory does not grow with the number of runs.

        Args:
            progress: Awaited now and then with how many runs were read, and how many there were at the beginning. What
                is not of runs is looked at after the last of them.

        Raises:
            StoreFailed: The list of the runs itself is damaged.
        """
        ...
