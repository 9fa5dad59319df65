"""Stored runs as somebody looks at them, whether anybody works on them or not."""

from typing import Any, NamedTuple

from stagepost.checkpoint import CheckpointStore, Snapshot

from .._execution._stored_lists import StoredLists
from ._migration import Definition
from ._registry import Registry


class Seen(NamedTuple):
    """A run with its state.

    Attributes:
        snapshot: It as it is stored; of its lists only the lengths are sure to be there.
        definition: What it is executed by.
        state: Its state.
    """

    snapshot: Snapshot
    definition: Definition
    state: Any


async def see(snapshot: Snapshot, store: CheckpointStore, registry: Registry, lists: StoredLists) -> Seen:
    """A run with its state, of which no more is read than this process does not know yet.

    Args:
        snapshot: What `CheckpointStore.head` says of it.
        store: Where it is.
        registry: Knows its workflow.
        lists: Its lists.

    Raises:
        RunNotFound: It was deleted since.
        UnknownWorkflow: Nobody knows its workflow.
        IncompatibleCheckpoint: It cannot be read any more, or a migration failed.
    """
    definition = registry.find(snapshot.run)
    read = None if definition.migrations else await lists.read(snapshot, definition.workflow.plan.schema)
    if read is not None:
        return Seen(snapshot, definition, definition.view(snapshot, read))
    whole = await store.load(snapshot.run.run_id)  # a migration wants all of it, or somebody has changed it since
    definition = registry.find(whole.run)
    return Seen(whole, definition, definition.view(whole))
