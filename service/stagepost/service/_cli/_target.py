"""Where the runs are that a command is about: in a file, or at a service."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from stagepost.checkpoint import CountBy, RunFilters, RunStatus, WaitKind

from .._wire._asked import ForkRun, RetryItems
from .._wire._done import Done
from .._wire._history import HistoryPage
from .._wire._run import RunShown
from .._wire._runs import RunCounts, RunPage
from .._wire._schedules import ScheduleList
from .._wire._waits import WaitList
from .._wire._watched import WatchEvent

Tell: TypeAlias = Callable[[WatchEvent], None]
"""Shows something that has become of a run."""

Named: TypeAlias = Callable[[str], None]
"""Is told the id of a new run."""


class Target(Protocol):
    """What commands do with runs, wherever these are."""

    async def list(
        self,
        filters: RunFilters,
        *,
        newest_first: bool = True,
        after: str | None = None,
        before: str | None = None,
        limit: int = 20,
    ) -> RunPage:
        """A page of runs."""
        ...

    async def count(self, filters: RunFilters, *, by: CountBy = "status") -> RunCounts:
        """How many runs there are."""
        ...

    async def get(self, run_id: str) -> RunShown:
        """All that is stored of a run."""
        ...

    async def history(self, run_id: str, *, after: int | None = None, limit: int = 100) -> HistoryPage:
        """A page of what has happened to a run."""
        ...

    async def waits(
        self, run_id: str | None = None, *, kind: WaitKind | None = None, after: str | None = None, limit: int = 100
    ) -> WaitList:
        """A page of what runs wait for."""
        ...

    async def answer(self, wait_id: str, value: Any) -> Done:
        """Answer a wait."""
        ...

    async def signal(self, run_id: str, name: str, value: Any, *, dedup: str | None) -> Done:
        """Send a signal to a run."""
        ...

    async def settle(self, run_id: str, key: str, *, value: Any, retry: bool, place: str | None) -> Done:
        """Say what became of an effect in doubt."""
        ...

    async def cancel(self, run_id: str) -> Done:
        """Request the end of a run."""
        ...

    async def delete(self, run_id: str) -> Done:
        """Delete a run that has ended."""
        ...

    async def watch(self, run_id: str, tell: Tell, *, until_settled: bool) -> RunStatus:
        """Tell what becomes of a run until it has ended; its status in the end."""
        ...

    async def resume(self, run_id: str, tell: Tell) -> RunStatus:
        """Go on with a run until it has ended or waits; its status in the end."""
        ...

    async def fork(self, run_id: str, order: ForkRun, tell: Tell, named: Named) -> RunStatus:
        """Make a new run of another one, and go on with it until it has ended or waits; its status in the end."""
        ...

    async def retry_items(self, run_id: str, order: RetryItems, tell: Tell, named: Named) -> RunStatus:
        """The same, but only the failed items of a fan-out run again."""
        ...

    async def schedules(self, *, after: str | None = None, limit: int = 100) -> ScheduleList:
        """A page of schedules."""
        ...

    async def pause_schedule(self, key: str) -> Done:
        """Start no runs of a schedule until it is resumed."""
        ...

    async def resume_schedule(self, key: str) -> Done:
        """Start runs of a schedule again, from its next time on."""
        ...

    async def delete_schedule(self, key: str) -> Done:
        """Forget a schedule."""
        ...
