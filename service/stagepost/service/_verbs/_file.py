"""Verbs over a store's file alone, beside the process that owns it: they change nothing."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from pydantic_core import to_jsonable_python

from stagepost.checkpoint import CheckpointError, CountBy, EncryptedInbox, RunFilters, Snapshot, SqliteInbox, WaitKind
from stagepost.workflows import Runner, WorkflowError, check_runs, read_history

from .._wire._history import HistoryPage
from .._wire._inspected import ActList, StateAt, WaitSchema
from .._wire._made import run_page, run_shown, wait_list
from .._wire._made_inspected import check_found, state_at
from .._wire._run import RunShown
from .._wire._runs import RunCounts, RunPage
from .._wire._store import CheckFound
from .._wire._waits import WaitList
from .._wire._workflows import WorkflowList
from ..errors import InputRefused
from ._acts import read_acts
from ._files import Made, inbox_of
from ._inspected import Inspected, told
from ._scopes import misuse, verb
from ._versions import version_of

_LISTED: Final = 200
_SIGNALS: Final = 100


class FileVerbs:
    """What anybody may see of the runs in a file.

    Args:
        store: The file, opened beside its owner.
        made: The workflows, or a runner of them that is not entered; empty if nobody has given any.
        owner: Says which process owns the file at this moment.
    """

    def __init__(
        self,
        store: SqliteInbox | EncryptedInbox,
        made: Made,
        owner: Callable[[], str | None],
    ) -> None:
        self._store = store
        self._made = made
        self._owner = owner
        self._inbox = inbox_of(store, made)
        self._version = version_of(store)

    @property
    def owner(self) -> str | None:
        """The process that owns the file at this moment."""
        return self._owner()

    @verb
    async def get(self, run_id: str) -> RunShown:
        """All that is stored of a run."""
        return await self._all_of(await self._store.load(run_id))

    async def _all_of(self, snapshot: Snapshot) -> RunShown:
        run_id = snapshot.run.run_id
        waits = await self._inbox.waits(run_id) if snapshot.run.status.is_open else ()
        signals = (await self._store.signals(run_id, limit=_SIGNALS)).items
        return run_shown(snapshot, waits, signals, self._owner())

    @verb
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
        with misuse():
            page = await self._store.find(newest_first=newest_first, after=after, before=before, limit=limit, **filters)
        return run_page(page)

    @verb
    async def count(self, filters: RunFilters, *, by: CountBy = "status") -> RunCounts:
        """How many runs there are."""
        counts = await self._store.count(by=by, **filters)
        return RunCounts(total=counts.total, by=by, counts=dict(counts.by))

    @verb
    async def history(self, run_id: str, *, after: int | str | None = None, limit: int = 100) -> HistoryPage:
        """A page of what has happened to a run."""
        with misuse():
            found = await read_history(self._store, run_id, after=after, limit=limit)
        return HistoryPage.model_validate(found.to_dict())

    @verb
    async def waits(
        self, run_id: str | None = None, *, kind: WaitKind | None = None, after: str | None = None, limit: int = 100
    ) -> WaitList:
        """A page of what runs wait for."""
        with misuse():
            return wait_list(await self._inbox.list_waits(run_id, kind=kind, after=after, limit=limit))

    @verb
    async def workflows(self) -> WorkflowList:
        """What can be started: nothing."""
        return WorkflowList(workflows=[])

    @verb
    async def inspect(self, run_id: str) -> Inspected:
        """A run with what has happened to it."""
        snapshot = await self._store.load(run_id)
        return Inspected(await self._all_of(snapshot), snapshot, await told(self._store, run_id))

    @verb
    async def state(self, run_id: str, number: int) -> StateAt:
        """The state of a run as it was at a number of its history."""
        return state_at(number, await self._store.load(run_id, at=number or None))

    @verb
    async def schema(self, wait_id: str) -> WaitSchema:
        """What a wait takes, as far as it is known here."""
        with suppress(WorkflowError, CheckpointError):
            return WaitSchema(known=to_jsonable_python(await self._inbox.schema(wait_id)))
        return WaitSchema(known=None)

    @verb
    async def check(self) -> CheckFound:
        """What this code would do with each open run.

        Raises:
            InputRefused: Nobody has given the code.
        """
        if isinstance(self._made, Runner):
            return check_found(await self._made.check(self._store, limit=_LISTED))
        if not self._made:
            raise InputRefused("a check needs the workflows: give --app MODULE:NAME")
        return check_found(await check_runs(self._store, workflows=self._made, limit=_LISTED))

    @verb
    async def version(self) -> int | None:
        """A number that changes with each commit to the file."""
        return None if self._version is None else await self._version()

    @verb
    async def acts(self, run_id: str) -> ActList:
        """What was done to a run, and by whom."""
        return await read_acts(self._store, run_id)
