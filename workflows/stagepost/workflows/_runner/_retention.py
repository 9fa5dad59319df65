"""What stays of runs, and for how long."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

import anyio

from stagepost.checkpoint import CheckpointStore, Keep, StoreError

KeepChoice: TypeAlias = Keep | Literal["result", "all", "none"]

EVERY: Final = 3600.0  # seconds between sweeps
_AT_ONCE: Final = 20  # runs that one transaction deletes: commits wait no longer than that takes
_REST: Final = 0.05  # seconds between two of them


def kept(choice: KeepChoice) -> Keep:
    """What stays of runs.

    Raises:
        ValueError: That is not known.
    """
    try:
        return Keep(choice)
    except ValueError:
        known = ", ".join(repr(each.value) for each in Keep)
        raise ValueError(f"keep={choice!r}: give one of {known}") from None


class Keeping:
    """What stays of the runs of each workflow.

    Args:
        choice: For all, or by the names of workflows; those that are not named keep their result.
    """

    def __init__(self, choice: KeepChoice | Mapping[str, KeepChoice]) -> None:
        self._named = {} if isinstance(choice, str) else {name: kept(keep) for name, keep in choice.items()}
        self._others = kept(choice) if isinstance(choice, str) else Keep.RESULT

    def of(self, workflow: str) -> Keep:
        """What stays of the runs of a workflow."""
        return self._named.get(workflow, self._others)


class Sweeper:
    """Deletes runs that ended longer ago than they are kept, a few at a time.

    Args:
        store: Where runs are kept.
        clock: Seconds since 1970.
        keep_for: How long they are kept.
    """

    def __init__(self, store: CheckpointStore, clock: Callable[[], float], keep_for: timedelta) -> None:
        self._store = store
        self._clock = clock
        self._keep_for = keep_for

    async def run(self) -> None:
        """Sweep now and every hour, for ever."""
        while True:
            await self.sweep()
            await anyio.sleep(EVERY)

    async def sweep(self) -> None:
        """Delete all whose time is up; what a store in trouble refuses is deleted the next time."""
        before = datetime.fromtimestamp(self._clock(), UTC) - self._keep_for
        try:
            while await self._store.prune(before, limit=_AT_ONCE) == _AT_ONCE:  # noqa: ASYNC110  # lets others commit
                await anyio.sleep(_REST)
        except StoreError:  # those who commit are told of it
            return
