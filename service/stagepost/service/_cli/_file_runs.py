"""Runs in a file: read and written beside its owner, or as its owner where that is needed."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio

from stagepost.checkpoint import CountBy, RunFilters, RunNotFound, RunStatus, WaitKind
from stagepost.workflows import Inbox, Run, Runner, pause_schedule, read_history, read_schedules

from .._verbs._asking import as_asked
from .._verbs._changes import Look, changes
from .._verbs._files import Made, inbox_of
from .._verbs._looking import Watched, is_over, look
from .._verbs._versions import version_of
from .._wire._asked import ForkRun, RetryItems
from .._wire._done import Done
from .._wire._history import HistoryPage
from .._wire._made import run_page, run_shown, schedule_list, wait_list
from .._wire._run import RunShown
from .._wire._runs import RunCounts, RunPage
from .._wire._schedules import ScheduleList
from .._wire._waits import WaitList
from ._access import existing, owner_of, owning
from ._definitions import in_file, load, made_by
from ._errors import UsageError, misuse
from ._opening import beside, owned, reading
from ._target import Named, Tell

_PAUSE: Final = 0.2  # seconds between two looks at whether anything was committed
_SIGNALS: Final = 100


class FileRuns:
    """The runs of a file.

    Args:
        file: The store's file.
        app: What gives the workflows, for what has to check values or to go on with runs.
        by: Who answers.
        hint: Tells people something about what they see.
    """

    def __init__(self, file: Path | None, app: str | None, by: str | None, hint: Callable[[str], None]) -> None:
        self._file = file
        self._app = app
        self._by = by
        self._hint = hint

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
        async with reading(self._file, self._made()) as reader:
            with misuse():
                page = await reader.find(newest_first=newest_first, after=after, before=before, limit=limit, **filters)
        return run_page(page)

    async def count(self, filters: RunFilters, *, by: CountBy = "status") -> RunCounts:
        """How many runs there are."""
        async with reading(self._file, self._made()) as reader:
            counts = await reader.count(by=by, **filters)
        return RunCounts(total=counts.total, by=by, counts=dict(counts.by))

    async def get(self, run_id: str) -> RunShown:
        """All that is stored of a run."""
        async with beside(self._file, self._made()) as store:
            snapshot = await store.load(run_id)
            waits = await Inbox(store).waits(run_id) if snapshot.run.status.is_open else ()
            signals = (await store.signals(run_id, limit=_SIGNALS)).items
        return run_shown(snapshot, waits, signals, owner_of(self._file))

    async def history(self, run_id: str, *, after: int | None = None, limit: int = 100) -> HistoryPage:
        """A page of what has happened to a run."""
        async with reading(self._file, self._made()) as reader:
            found = await read_history(reader, run_id, after=after, limit=limit)
        return HistoryPage.model_validate(found.to_dict())

    async def waits(
        self, run_id: str | None = None, *, kind: WaitKind | None = None, after: str | None = None, limit: int = 100
    ) -> WaitList:
        """A page of what runs wait for."""
        async with beside(self._file, self._made()) as store:
            return wait_list(await Inbox(store).list_waits(run_id, kind=kind, after=after, limit=limit))

    # what is written beside the owner

    async def answer(self, wait_id: str, value: Any) -> Done:
        """Answer a wait."""
        run_id = wait_id.partition("/")[0]
        async with self._sending(run_id) as inbox:
            waits = await inbox.waits(run_id, kind=WaitKind.ANSWER)
            asked = next((each for each in waits if each.id == wait_id), None)
            await inbox.answer(wait_id, value if asked is None else as_asked(asked.shown, value), by=self._by)
        return self._done("answered", wait_id, checked=self._app is not None)

    async def signal(self, run_id: str, name: str, value: Any, *, dedup: str | None) -> Done:
        """Send a signal to a run."""
        async with self._sending(run_id) as inbox:
            is_new = await inbox.signal(run_id, name, value, dedup=dedup)
        return self._done("signalled", run_id, is_new=is_new, checked=self._app is not None)

    async def settle(self, run_id: str, key: str, *, value: Any, retry: bool, place: str | None) -> Done:
        """Say what became of an effect in doubt."""
        async with self._sending(run_id) as inbox:
            with misuse():
                await inbox.settle(run_id, key, value=value, retry=retry, place=place)
        return self._done("settled", run_id)

    async def cancel(self, run_id: str) -> Done:
        """Request the end of a run, which its owner commits."""
        async with beside(self._file) as store:
            await store.cancel(run_id)
        return self._done("cancel_requested", run_id)

    def _made(self) -> Made:
        """What ``--app`` gives, if there is a file."""
        existing(self._file)
        return made_by(self._app, self._file)

    @asynccontextmanager
    async def _sending(self, run_id: str) -> AsyncGenerator[Inbox, None]:
        """Where something is sent to a run; it is checked as far as the workflows are known.

        Raises:
            UsageError: The run is encrypted and there are no keys: its owner would read no value that is not.
        """
        made = self._made()
        async with beside(self._file, made) as store:
            with suppress(RunNotFound):
                if (await store.info(run_id)).is_encrypted:
                    raise UsageError(
                        f"run {run_id!r} is encrypted, so what is sent to it has to be, too: give --app MODULE:NAME of "
                        "a Runner on an EncryptedStore with the keys, or of a function that makes one"
                    )
            yield inbox_of(store, made)

    def _done(self, action: str, name: str, *, is_new: bool = True, checked: bool = True) -> Done:
        return Done(action=action, id=name, owner=owner_of(self._file), is_new=is_new, checked=checked)

    # what is followed

    async def watch(self, run_id: str, tell: Tell, *, until_settled: bool) -> RunStatus:
        """Tell what becomes of a run, whoever works on it."""
        async with beside(self._file, self._made()) as store:
            info = await store.info(run_id)
            if info.status is RunStatus.RUNNING and owner_of(self._file) is None:
                self._hint("nobody owns the file: nothing becomes of the run before a process does")
            return await follow(store, run_id, tell, anyio.Event(), until_settled=until_settled)

    # what only the owner does

    async def resume(self, run_id: str, tell: Tell) -> RunStatus:
        """Go on with a run until it has ended or waits."""
        async with load(self._app, "resume a run").runner(self._file, "resume a run") as runner:
            return await _gone_on(runner, await runner.resume(run_id), tell)

    async def fork(self, run_id: str, order: ForkRun, tell: Tell, named: Named) -> RunStatus:
        """Make a new run of another one, and go on with it until it has ended or waits."""
        async with self._forking() as runner:
            run = await runner.fork(
                run_id,
                at=order.at,
                changes=order.changes,
                effects=order.effects,
                run_id=order.run_id,
                labels=order.labels,
            )
            named(run.id)
            return await _gone_on(runner, run, tell)

    async def retry_items(self, run_id: str, order: RetryItems, tell: Tell, named: Named) -> RunStatus:
        """The same, but only the failed items of a fan-out run again."""
        async with self._forking() as runner:
            run = await runner.retry_items(run_id, path=order.path, run_id=order.run_id, labels=order.labels)
            named(run.id)
            return await _gone_on(runner, run, tell)

    @asynccontextmanager
    async def _forking(self) -> AsyncGenerator[Runner, None]:
        async with load(self._app, "fork a run").runner(self._file, "fork a run") as runner:
            yield runner

    async def delete(self, run_id: str) -> Done:
        """Delete a run that has ended."""
        async with owning(self._file, "delete a run") as store:
            await store.delete(run_id)
        return Done(action="deleted", id=run_id, owner=None)

    async def schedules(self, *, after: str | None = None, limit: int = 100) -> ScheduleList:
        """A page of schedules."""
        async with reading(self._file, self._made()) as reader:
            with misuse():
                page = await read_schedules(reader, after=after, limit=limit)
        return schedule_list(page)

    async def pause_schedule(self, key: str) -> Done:
        """Start no runs of a schedule until it is resumed."""
        async with owned(self._file, self._made(), "pause a schedule") as store:
            await pause_schedule(store, key)
        return Done(action="paused", id=key, owner=None)

    async def resume_schedule(self, key: str) -> Done:
        """Start runs of a schedule again, from its next time on."""
        async with owned(self._file, self._made(), "resume a schedule") as store:
            schedule = await pause_schedule(store, key, paused=False)
        return Done(action="resumed", id=key, owner=None, next_due=schedule.next_due)

    async def delete_schedule(self, key: str) -> Done:
        """Forget a schedule."""
        async with owning(self._file, "delete a schedule") as store:
            await store.delete_schedule(key)
        return Done(action="deleted", id=key, owner=None)


async def follow(
    store: Watched, run_id: str, tell: Tell, over: anyio.Event, *, until_settled: bool | None
) -> RunStatus:
    """Tell what becomes of a run: it is read when something was committed to the file.

    Args:
        store: Where it is read.
        run_id: The run.
        tell: Shows it.
        over: Ends it as well, after one more look.
        until_settled: Whether it ends when the run waits, too; None: only `over` ends it.

    Returns:
        Its status in the end.
    """
    before: Look | None = None
    version, read = -1, version_of(store)
    while True:
        is_last = over.is_set()
        current = version if read is None else await read()
        if before is None or is_last or current != version:
            version, seen = current, await look(store, run_id)
            for event in changes(before, seen):
                tell(event)
            before = seen
        status = before.snapshot.run.status
        if is_last or (until_settled is not None and is_over(status, until_settled=until_settled)):
            return status
        with anyio.move_on_after(_PAUSE):
            await over.wait()


async def _gone_on(runner: Runner, run: Run, tell: Tell) -> RunStatus:
    """Tell what becomes of a run of a runner of this process, until it has ended or waits."""
    store = runner.store
    if in_file(store) is None:
        return await run.settled()
    over, status = anyio.Event(), run.status
    async with anyio.create_task_group() as group:
        group.start_soon(_followed, store, run.id, tell, over)
        try:
            status = await run.settled()
        finally:
            over.set()
    return status


async def _followed(store: Watched, run_id: str, tell: Tell, over: anyio.Event) -> None:
    await follow(store, run_id, tell, over, until_settled=None)
