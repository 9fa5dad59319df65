"""Following a run: what becomes of it, told in short."""

from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from typing import Final, Protocol

import anyio

from stagepost.checkpoint import Catalogue, Limits, RunStatus, Snapshot
from stagepost.checkpoint import Inbox as StoreInbox
from stagepost.workflows import Inbox

from .._wire._watched import WatchEvent
from ._base import Base
from ._changes import Look, changes
from ._scopes import verb

_CHILDREN: Final = 200
_PAUSE: Final = 0.1  # seconds between two looks at a run that commits all the time


class Watched(StoreInbox, Catalogue, Protocol):
    """A store as far as watching needs it."""

    @property
    def limits(self) -> Limits:
        """How large values may be."""
        ...

    async def head(self, run_id: str) -> Snapshot:
        """All that is stored of a run, without lists that have rows of their own."""
        ...


class Watching(Base):
    """The part of `Verbs` that follows runs."""

    @verb
    async def watch(self, run_id: str, *, until_settled: bool = False) -> AsyncGenerator[WatchEvent, None]:
        """What becomes of a run until it has ended, beginning with where it stands.

        Args:
            run_id: The run.
            until_settled: End as well when it waits for somebody.

        Raises:
            RunNotFound: There is none.
            RunLeftOpen: Nobody can go on with it.
            RunnerStopped: The service ends.
        """
        before: Look | None = None
        with self._runner.listen(run_id, buffer=0) as listening:
            while True:
                await listening.next()
                seen = await look(self._runner.store, run_id)
                for event in changes(before, seen):
                    yield event
                if is_over(seen.snapshot.run.status, until_settled=until_settled):
                    return
                before = seen
                await anyio.sleep(_PAUSE)


def is_over(status: RunStatus, *, until_settled: bool) -> bool:
    """Whether a run with this status is not followed any more."""
    return not status.is_open or (until_settled and status is RunStatus.WAITING)


async def look(store: Watched, run_id: str) -> Look:
    """A run, as it is stored now.

    Raises:
        RunNotFound: There is none.
    """
    snapshot = await store.head(run_id)
    children = await store.find(below=run_id, limit=_CHILDREN)
    open_waits: Mapping[str, str] = {}
    if any(wait.status == "open" for wait in snapshot.waits):
        open_waits = {wait.place: wait.id for wait in await Inbox(store).waits(run_id) if wait.run_id == run_id}
    statuses = {info.run_id: info.status.value for info in children.items}
    return Look(snapshot, statuses, open_waits, datetime.now(UTC))
