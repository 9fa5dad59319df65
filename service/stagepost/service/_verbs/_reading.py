"""Verbs that change nothing."""

from typing import Any, Final

from stagepost.agents import NotAnAgent, TaskStream
from stagepost.checkpoint import CountBy, RunFilters, RunStatus, Snapshot, WaitKind
from stagepost.workflows import RunStream, UnknownWorkflow, WorkflowNotFound

from .._wire._history import HistoryPage
from .._wire._made import run_page, run_shown, schedule_list, wait_list
from .._wire._run import RunShown
from .._wire._runs import RunCounts, RunPage
from .._wire._schedules import ScheduleList
from .._wire._waits import WaitList
from .._wire._workflows import WorkflowList, WorkflowRow
from ._base import OWNER, Base
from ._scopes import misuse, verb

_SIGNALS: Final = 100


class Reading(Base):
    """The part of `Verbs` that changes nothing."""

    @verb
    async def get(self, run_id: str) -> RunShown:
        """All that is stored of a run.

        Raises:
            RunNotFound: There is none.
        """
        return await self._all_of(await self._runner.store.load(run_id))

    async def _all_of(self, snapshot: Snapshot) -> RunShown:
        """All that is stored of a run that was read."""
        run_id = snapshot.run.run_id
        waits = await self._runner.waits(run_id) if snapshot.run.status.is_open else ()
        signals = (await self._runner.store.signals(run_id, limit=_SIGNALS)).items
        shown = run_shown(snapshot, waits, signals, OWNER)
        if snapshot.run.status is RunStatus.COMPLETED and self._tasks.is_agent(snapshot.run.workflow):
            return shown.model_copy(update={"output": await self._output(run_id)})
        return shown

    async def _output(self, run_id: str) -> Any:
        """What an agent has answered."""
        from pydantic_core import to_jsonable_python  # noqa: PLC0415  # seldom needed

        return to_jsonable_python((await self._tasks.get(run_id)).output, serialize_unknown=True)

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
        """A page of runs.

        Args:
            filters: Which runs.
            newest_first: Begin with the newest.
            after: `RunPage.next` of a page, for the one that follows it.
            before: `RunPage.previous` of a page, for the one that precedes it.
            limit: At most so many.

        Raises:
            InputRefused: A cursor is none of such a page.
        """
        with misuse():
            page = await self._runner.runs.list(
                newest_first=newest_first, after=after, before=before, limit=limit, **filters
            )
        return run_page(page)

    @verb
    async def count(self, filters: RunFilters, *, by: CountBy = "status") -> RunCounts:
        """How many runs there are, in all and by their status or workflow."""
        counts = await self._runner.runs.count(by=by, **filters)
        return RunCounts(total=counts.total, by=by, counts=dict(counts.by))

    @verb
    async def history(
        self,
        run_id: str,
        *,
        after: int | str | None = None,
        limit: int = 100,
    ) -> HistoryPage:
        """A page of what has happened to a run.

        Raises:
            RunNotFound: There is none.
            InputRefused: `after` is no number of a history.
        """
        with misuse():
            found = await self._runner.runs.history(run_id, after=after, limit=limit)
        return HistoryPage.model_validate(found.to_dict())

    @verb
    async def waits(
        self,
        run_id: str | None = None,
        *,
        kind: WaitKind | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> WaitList:
        """A page of what runs wait for, or one run and those below it.

        Raises:
            RunNotFound: There is no such run.
            InputRefused: The cursor is none of such a page.
        """
        with misuse():
            return wait_list(await self._runner.list_waits(run_id, kind=kind, after=after, limit=limit))

    @verb
    async def workflows(self) -> WorkflowList:
        """What can be started."""
        return WorkflowList(
            workflows=[
                WorkflowRow(
                    name=each.name,
                    version=each.version,
                    kind="agent" if self._tasks.is_agent(each.name) else "workflow",
                    signals=sorted(each.signals),
                )
                for each in self._runner.workflows
            ]
        )

    @verb
    async def schedules(self, *, after: str | None = None, limit: int = 100) -> ScheduleList:
        """A page of schedules.

        Raises:
            InputRefused: The cursor is none of such a page.
        """
        with misuse():
            page = await self._runner.schedules.list(after=after, limit=limit)
        return schedule_list(page)

    @verb
    async def stream(self, run_id: str, *, after: str | None = None) -> TaskStream[Any] | RunStream:
        """What becomes of a run, part by part: of an agent's the stream of its task, else that of the run.

        Leaving its block touches no run.

        Args:
            run_id: The run.
            after: The cursor of the last part that is known; None to begin.

        Raises:
            RunNotFound: There is none.
            InvalidCursor: The cursor is none of this task's stream.
            CursorRefused: The cursor is none of this run's stream.
        """
        if await self._is_task(run_id):
            return self._tasks.stream(run_id, after=after)
        return self._runner.stream(run_id, after=after)

    @verb
    async def heard_all(self, run_id: str, cursor: str | None) -> bool:
        """Whether a reader with this cursor has been told everything, the end included.

        Raises:
            RunNotFound: There is no such run.
            InvalidCursor: As by `stream`.
            CursorRefused: As by `stream`.
        """
        try:
            return await self._tasks.heard_all(run_id, cursor)
        except (NotAnAgent, WorkflowNotFound, UnknownWorkflow):
            return await self._runner.heard_all(run_id, cursor)
