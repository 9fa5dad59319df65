"""The part of the protocol that changes nothing, on top of SQL."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from .._records import RunInfo, RunStatus, Snapshot
from .._waiting import OpenWait, WaitKind
from ..errors import RunNotFound
from ._rows import SELECT_RUN, Query, Row, runs_query, snapshot_query, to_open_wait, to_run, to_snapshot, waits_query


class Reading(ABC):
    """Reads runs from tables; what is missing is how a query reaches its connection."""

    @abstractmethod
    async def _read(self, query: Query) -> Sequence[Row]:
        """The rows of a query."""

    async def load(self, run_id: str) -> Snapshot:
        """All that is stored of a run."""
        return to_snapshot(run_id, await self._read(snapshot_query(run_id)))

    async def info(self, run_id: str) -> RunInfo:
        """What is known of a run without its state."""
        for row in await self._read(Query(SELECT_RUN, (run_id,))):
            return to_run(row)
        raise RunNotFound(run_id)

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

    async def waits(
        self,
        *,
        run_id: str | None = None,
        kind: WaitKind | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[OpenWait]:
        """Open waits in the order of their runs and places."""
        return tuple(map(to_open_wait, await self._read(waits_query(run_id, kind, after, limit))))
