"""What is stored of runs beside where they stand now, for those who read their streams."""

from collections.abc import AsyncIterator, Collection
from contextlib import suppress

from stagepost.checkpoint import Catalogue, Snapshot, Version

from .._runs._registry import Registry
from ..errors import UnknownWorkflow


class StoredPast:
    """The histories of runs that keep them.

    Args:
        store: Where they are.
        registry: Knows the workflows.
    """

    def __init__(self, store: Catalogue, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    async def versions(self, run_id: str, after: int) -> AsyncIterator[Version]:
        """The versions that a run's root frame had, from a number of the frame on, in their order."""
        begin: str | None = str(max(after - 1, 0))  # no frame has a higher number than its place in the history
        while begin is not None:
            page = await self._store.history(run_id, after=begin, limit=20)
            for version in page.items:
                if not version.frame.path and version.frame.seq >= after:
                    yield version
            begin = page.next

    def lists(self, snapshot: Snapshot) -> Collection[str]:
        """Keys of a run's state whose lists only grow, if anybody here knows its workflow."""
        with suppress(UnknownWorkflow):
            return self._registry.find(snapshot.run).workflow.plan.schema.lists
        return ()
