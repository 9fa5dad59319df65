"""What stays of runs, and for how long."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio

from stagepost.checkpoint import CheckpointStore, Keep, StoreError

from .._containment import own_failure
from .._pattern_errors import describe

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

KeepChoice: TypeAlias = Keep | Literal["result", "all", "none"]

EVERY: Final = 3600.0  # seconds between sweeps
_AT_ONCE: Final = 500  # runs, or keys, that are deleted before others of the runner have their turn
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
        if not isinstance(choice, str | Mapping):
            raise ValueError(f"keep={choice!r:.80}: give a Keep, or a mapping of names of workflows to them")  # noqa: TRY004  # as for other values of it
        self._named = {} if isinstance(choice, str) else {name: kept(keep) for name, keep in choice.items()}
        self._others = kept(choice) if isinstance(choice, str) else Keep.RESULT

    def of(self, workflow: str) -> Keep:
        """What stays of the runs of a workflow."""
        return self._named.get(workflow, self._others)


class Sweeper:
    """Deletes what is kept no longer, a few at a time: runs, then the keys of runs.

    Args:
        store: Where runs are kept.
        clock: Seconds since 1970.
        keep_for: How long runs are kept after their end; None for ever.
        keep_keys: How long their keys are.
        log: Where failures are logged.
    """

    def __init__(
        self,
        store: CheckpointStore,
        clock: Callable[[], float],
        keep_for: timedelta | None,
        keep_keys: timedelta | None,
        *,
        log: "BoundLogger",
    ) -> None:
        self._log = log
        self._clock = clock
        self._sweeps = [
            (prune, time)
            for prune, time in ((store.prune, keep_for), (store.prune_keys, keep_keys))
            if time is not None
        ]

    async def run(self) -> None:
        """Sweep now and every hour, for ever; return if nothing is ever deleted."""
        while self._sweeps:
            try:
                await self.sweep()
            except BaseException as error:  # noqa: BLE001  # the clock is a user's; what is no failure is raised again
                self._log.error("retention failed", exc_info=own_failure(error))
            await anyio.sleep(EVERY)

    async def sweep(self) -> None:
        """Delete all whose time is up; what a store in trouble refuses is deleted the next time."""
        now = datetime.fromtimestamp(self._clock(), UTC)
        try:
            for prune, time in self._sweeps:
                while await prune(now - time, limit=_AT_ONCE) == _AT_ONCE:  # noqa: ASYNC110  # lets others commit
                    await anyio.sleep(_REST)
        except StoreError as error:
            self._log.warning("retention failed", why=describe(error))
