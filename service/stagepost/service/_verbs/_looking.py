"""Looking at a run, and whether it is to be looked at again."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Protocol

from stagepost.checkpoint import Catalogue, Limits, RunStatus, Snapshot
from stagepost.checkpoint import Inbox as StoreInbox
from stagepost.workflows import Inbox

from ._changes import Look

_CHILDREN: Final = 200


class Watched(StoreInbox, Catalogue, Protocol):
    """A store as far as watching needs it."""

    @property
    def limits(self) -> Limits:
        """How large values may be."""
        ...

    async def head(self, run_id: str) -> Snapshot:
        """All that is stored of a run, without lists that have rows of their own."""
        ...


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
