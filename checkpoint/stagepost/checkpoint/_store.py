"""The protocol that every checkpoint store keeps."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol, Self

from ._records import Commit, Lease, NewRun, RunInfo, RunStatus, Snapshot


class CheckpointStore(Protocol):
    """Keeps runs. Each method is atomic, and what returned has been saved as durably as the store promises.

    A store is an async context manager; outside of it every method raises `StoreClosed`.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def admit(self, owner: str) -> AbstractAsyncContextManager[None]:
        """Hold the store for one runner.

        Raises:
            StoreInUse: Another runner holds it.
        """
        ...

    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        """Store a new run with its first frame, once.

        Returns:
            The lease and what was stored; or no lease and the run that has this id, or this workflow and key, already.
        """
        ...

    async def claim(self, run_id: str, owner: str, *, reopen: bool = False) -> Lease:
        """Become the owner of an open run; the owner before is fenced from now on.

        Args:
            run_id: The run.
            owner: Who claims it.
            reopen: Open a failed run again; its failed and cancelled items wait again.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended (with `reopen`: other than by failing).
        """
        ...

    async def cancel(self, run_id: str) -> None:
        """Ask for the end of an open run, for good: from now on it takes no commit but that of its end.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        ...

    async def commit(self, commit: Commit) -> None:
        """Save one change of a run.

        Raises:
            OwnershipLost: Somebody has claimed the run since the lease was given.
            RunNotOpen: The run has ended.
            CancelRequested: Its end is asked for, and this is another commit.
            StaleCheckpoint: A frame or item is not what the commit expects.
        """
        ...

    async def load(self, run_id: str) -> Snapshot:
        """All that is stored of a run.

        Raises:
            RunNotFound: There is none.
        """
        ...

    async def find(
        self,
        *,
        status: RunStatus | None = None,
        workflow: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[RunInfo]:
        """Runs in the order of their ids, from the one behind `after`, at most `limit`."""
        ...
