"""The runs of a store, as a runner shows them: `Runner.runs`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, Unpack

from stagepost.checkpoint import CountBy, Counts, JsonValue, Page, RunFilters, RunInfo

from .._history._entries import RunHistory
from .._history._reading import read_history, read_value
from .._history._values import RecordedValue
from .._runs._seeing import see
from ._dispatcher import Dispatcher
from ._hints import check_id
from ._pending import PendingWait
from ._run_view import RunView, view_of

Opened: TypeAlias = Callable[[], Dispatcher]
Waits: TypeAlias = Callable[[str], Awaitable[Sequence[PendingWait]]]
Blocked: TypeAlias = Callable[[str, str | None], Awaitable[str | None]]


class RunCatalogue:
    """The runs of a store: `Runner.runs`. It shows all of them, whoever has started them.

    Args:
        opened: Where runs are worked on.
        waits: What a run waits for.
        blocked: Why a run cannot go on, given what stands in its row.
    """

    def __init__(self, opened: Opened, waits: Waits, blocked: Blocked) -> None:
        self._opened = opened
        self._waits = waits
        self._blocked = blocked

    async def list(
        self,
        *,
        newest_first: bool = False,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
        **filters: Unpack[RunFilters],
    ) -> Page[RunInfo]:
        """A page of runs in the order in which they were started, whatever has become of them since.

        With ``text=`` they come in the order in which they were stored; else with ``below=`` in that of their ids, and
        with ``ended_since=`` or ``ended_until=`` in that of their ends. Runs that are stored or deleted meanwhile shift
        no page.

        Args:
            newest_first: Begin with the last one.
            after: `Page.next` of a page, for the one that follows it.
            before: `Page.previous` of a page, for the one that precedes it.
            limit: At most so many.
            filters: Which runs; see `RunFilters`.

        Returns:
            A page; runs of which not even this can be read are in `Page.damaged`.

        Raises:
            ValueError: A cursor is none of such a page, or two are given.
        """
        store = self._opened().store
        return await store.find(newest_first=newest_first, after=after, before=before, limit=limit, **filters)

    async def count(self, *, by: CountBy | None = None, **filters: Unpack[RunFilters]) -> Counts:
        """How many runs there are, as of one moment.

        Args:
            by: Also by their ``status``, or by their ``workflow``.
            filters: Which runs; see `RunFilters`.
        """
        return await self._opened().store.count(by=by, **filters)

    async def info(self, run_id: str) -> RunInfo:
        """What is stored of a run beside its state, such as its workflow and status: the quickest look at it.

        Raises:
            RunNotFound: There is none.
        """
        return await self._opened().store.info(check_id(run_id))

    async def get(self, run_id: str) -> RunView:
        """A run as it is stored: where it stands, its state, its times, why it failed, what it waits for.

        Raises:
            RunNotFound: There is none.
            UnknownWorkflow: The runner does not know its workflow; `info` tells what is known without.
            IncompatibleCheckpoint: It is of an older version, and its migration failed.
        """
        dispatcher = self._opened()
        head = await dispatcher.store.head(check_id(run_id))
        seen = await see(head, dispatcher.store, dispatcher.registry, dispatcher.lists)
        run = seen.snapshot.run
        if not run.status.is_open:
            return view_of(seen, (), is_held=False, blocked=None)
        waits, blocked = await self._waits(run_id), await self._blocked(run_id, run.blocked)
        return view_of(seen, waits, is_held=dispatcher.is_executed(run_id), blocked=blocked)

    async def history(self, run_id: str, *, after: int | str | None = None, limit: int = 100) -> RunHistory:
        """What has happened to a run, also while it goes on: steps, items, decisions, waits, retries, children.

        A run keeps it with ``keep="all"``. Of others this gives what is still known, and says so
        (`RunHistory.is_complete`). `read_history` reads it without a runner.

        Args:
            run_id: The run.
            after: Only what came after this: `RunHistory.next` of the page before, or `HistoryEntry.number`.
            limit: At most so many entries.

        Raises:
            RunNotFound: There is none.
            ValueError: `limit` is less than 1, or `after` is no number.
        """
        return await read_history(self._opened().store, check_id(run_id), after=after, limit=limit)

    async def value(self, run_id: str, recorded: RecordedValue, *, after: int = 0) -> JsonValue:
        """A value that a history names, also if it is large, or a list that grows.

        Args:
            run_id: The run.
            recorded: `KeyChange.before` or `KeyChange.after`.
            after: How many elements of a list to leave out: of one that has grown those that were there before.

        Raises:
            RunNotFound: There is none.
        """
        return await read_value(self._opened().store, check_id(run_id), recorded, after=after)

    async def delete(self, run_id: str) -> None:
        """Forget a run that has ended, with the ended runs that its steps have started; its key and id are free again.

        Bytes and lists stay as long as another run refers to them. What is still remembered of a run that was deleted
        before, its key and id, is forgotten, too.

        Raises:
            RunNotFound: There is none.
            RunNotEnded: It is open: `Runner.cancel` ends it.
        """
        await self._opened().store.delete(check_id(run_id))
