"""A store that forgets at its end, for tests and for event loops other than asyncio's."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Self, TypeVar, cast

from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

from ._admission import Admission
from ._records import Commit, Lease, NewRun, RunInfo, RunStatus, Snapshot
from ._sqlite import _statements as statements
from ._sqlite._batch import run_batch
from ._sqlite._connect import MEMORY, Connection, connect_memory
from ._sqlite._faults import translate
from ._sqlite._rows import Query, Row, runs_query, snapshot_query, to_micros, to_run, to_snapshot
from .errors import StoreClosed

T = TypeVar("T")


class MemoryStore:
    """Keeps runs as bytes in memory, by the very statements that `SqliteStore` runs on its file.

    So the fence, the refusals and every error are the same, on asyncio and trio; only the file, its lock and the
    writing thread are missing. The contents survive leaving and entering again, which is how a test plays a restart,
    and are gone with the object.

    Args:
        clock: Seconds since 1970, for the times that runs carry.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._admission = Admission("in memory")
        self._kept: bytes | None = None
        self._connection: Connection | None = None

    async def __aenter__(self) -> Self:
        self._connection = connect_memory()
        if self._kept is not None:
            self._connection.deserialize(self._kept)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        connection, self._connection = self._open(), None
        self._kept = connection.serialize()
        connection.close()

    def admit(self, owner: str) -> AbstractAsyncContextManager[None]:
        """Hold the store for one runner."""
        self._open()
        return self._admission.admit(owner)

    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        """Store a new run with its first frame, once."""
        return await self._write(partial(statements.create, run=run, now=self._now()))

    async def claim(self, run_id: str, owner: str, *, reopen: bool = False) -> Lease:
        """Become the owner of an open run, or with `reopen` of a failed one."""
        return await self._write(partial(statements.claim, run_id=run_id, owner=owner, reopen=reopen))

    async def cancel(self, run_id: str) -> None:
        """Ask for the end of an open run."""
        await self._write(partial(statements.cancel, run_id=run_id))

    async def commit(self, commit: Commit) -> None:
        """Save one change of a run."""
        await self._write(partial(statements.commit, change=commit, now=self._now()))

    async def load(self, run_id: str) -> Snapshot:
        """All that is stored of a run."""
        return to_snapshot(run_id, await self._read(snapshot_query(run_id)))

    async def find(
        self,
        *,
        status: RunStatus | None = None,
        workflow: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[RunInfo]:
        """Runs in the order of their ids."""
        return tuple(map(to_run, await self._read(runs_query(status, workflow, after, limit))))

    async def _write(self, work: Callable[[Connection], T]) -> T:
        (outcome,) = run_batch(self._open(), [work])
        await cancel_shielded_checkpoint()  # what is saved is reported, as by the writer of a file
        if outcome.error is not None:
            raise translate(outcome.error, MEMORY)
        return cast("T", outcome.result)

    async def _read(self, query: Query) -> list[Row]:
        await checkpoint()
        return self._open().execute(query.text, query.values).fetchall()

    def _open(self) -> Connection:
        if self._connection is None:
            raise StoreClosed("in memory")
        return self._connection

    def _now(self) -> int:
        return to_micros(self._clock())
