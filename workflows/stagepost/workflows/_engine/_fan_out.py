"""A fan-out under way: its items frozen, worked on by a few workers at once, accounted for, and joined."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice
from time import time

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from stagepost.checkpoint import (
    AttemptOutcome,
    CannotStore,
    Happening,
    HappeningKind,
    ItemStatus,
    Statement,
    StatementFailed,
    StatementRefused,
)
from stagepost.hub import TaskGuard, leaves_of, new_guard

from .._containment import find, own_failure
from .._events import ItemEnded, ItemsFrozen
from .._execution._blobs import blobs_of, check_blobs
from .._execution._chronicle import Chronicle
from .._execution._items import ItemRecord
from .._execution._journal import Parts
from .._execution._signals import Left, Parked, Stopping
from .._execution._sizes import note_size
from .._ids import place_of
from .._listening._saved import SavedItem
from .._plans._plan import FanOutPlace, Plan
from .._steps._context import StepContext
from .._steps._step import Step
from .._values._state import Value, stored
from .._values._unawaited import refuse_unawaited
from ..errors import WorkflowError
from ._branch import Branch
from ._ending import Ending, with_status
from ._item_branch import ItemBranch
from ._performing import perform
from ._queue import ItemQueue
from ._saying import item_place, say_entered
from ._taking import take_items

Advance = Callable[[Branch], Awaitable[None]]


class FanOut:
    """Runs one visit of a fan-out, from wherever it was left.

    Args:
        branch: The branch that stands at it.
        place: The fan-out.
        advance: Takes an item's branch to its end.
    """

    def __init__(self, branch: Branch, place: FanOutPlace, advance: Advance) -> None:
        self._branch = branch
        self._run = branch.execution
        self._place = place
        self._pattern = place.pattern
        self._advance = advance
        self._path = branch.full_path(place.path)
        self._visit = branch.visit(place.within)
        self._items: list[ItemRecord] = []
        self._ending: Ending
        self._unpromised: Iterator[ItemRecord] = iter(())
        self._begun = -1  # the last item that was, of a run that keeps its history
        self._done = 0
        self._failed = 0

    async def run(self) -> None:
        """Freeze the items, run the workers, save the values.

        Raises:
            WorkflowError: The items could not be had, or one failed.
            CheckpointError: A commit failed.
            Parked: All that is left to do waits for something.
        """
        if self._run.chronicle is not None:
            say_entered(self._branch)
        resumes = self._branch.width is not None
        self._items = self._take_up() if resumes else await self._freeze()
        self._ending = Ending(self._branch, self._place, self._path, self._visit, self._items)
        for item in self._items:
            self._count(item)
        if self._run.is_observed:
            self._run.emit(ItemsFrozen, path=self._path, total=len(self._items), done=self._done)
        if resumes and self._run.tracing is not None:
            self._run.tracing.resumed(self._places())
        queue = ItemQueue(self._path, with_status(self._items, ItemStatus.WAITING))
        if self._run.chronicle is not None:
            waiting = list(with_status(self._items, ItemStatus.WAITING))
            self._unpromised = iter(waiting[self._pattern.width(len(self._items)) :])
        self._run.listeners.append(queue.hear)
        try:
            await self._work(queue)
        finally:
            self._run.listeners.remove(queue.hear)
        if self._items and self._failed == len(self._items) and not self._pattern.may_all_fail:
            self._ending.give_up()
        if self._done < len(self._items):  # some have failed, or are no longer wanted; the join deletes what is stored
            self._run.forget_below(self._path)
        await self._ending.join()

    def _places(self) -> Sequence[str]:
        """The places of the items that workers begin with; so did those of a process before this one."""
        visits = (*self._branch.around, self._visit)
        begun = islice(with_status(self._items, ItemStatus.WAITING), self._pattern.width(len(self._items)))
        return [place_of(f"{self._path}[{item.idx}]", visits) for item in begun]

    async def _work(self, queue: ItemQueue) -> None:
        """Have the items worked on until each has ended or rests, or enough of them have ended well."""
        if self._has_failed:  # that is committed, and stands until somebody resumes the run
            self._ending.give_up()
        if self._has_enough:
            return
        width = self._pattern.width(len(self._items))
        while True:
            if width == 1:  # a task of its own would only cost time
                await self._worker(queue, None)
            else:
                await self._run_workers(queue, width)
            if self._has_failed:
                self._ending.give_up()
            if self._has_enough:
                return
            if self._run.journal.must_pause:
                await self._run.journal.pause()  # here the workers have ended early if the runner is being left
            if not queue.has_work and not (queue.is_resting and await self._rests()):
                break
        if queue.is_resting:
            self._run.items[self._path] = self._items
            raise Parked

    async def _rests(self) -> bool:
        """Whether news has come while nothing of the run was left to do, which only the outermost fan-out knows."""
        return self._branch.path == "" and self._run.journal.is_stored and await self._run.rest()

    def _take_up(self) -> list[ItemRecord]:
        """The items that somebody has frozen before."""
        items = self._run.items.pop(self._path, [])
        self._branch.frozen = self._path, self._visit, items
        return items

    async def _freeze(self) -> list[ItemRecord]:
        items = take_items(self._branch, self._place.within, self._pattern)
        await self._branch.freeze(items, self._path, self._visit, begins=self._pattern.width(len(items)))
        return items

    async def _run_workers(self, queue: ItemQueue, width: int) -> None:
        try:
            async with anyio.create_task_group() as group:
                self._run.journal.scopes.append(group.cancel_scope)
                for _ in range(width):
                    group.start_soon(self._worker, queue, group.cancel_scope)
        except BaseExceptionGroup as errors:
            await checkpoint_if_cancelled()
            reason = _reason(errors)
            if reason is not None:
                raise reason from None
        finally:
            self._run.journal.scopes.remove(group.cancel_scope)

    async def _worker(self, queue: ItemQueue, others: anyio.CancelScope | None) -> None:
        """Take items until there are no more, each only after the one before is committed.

        Args:
            queue: Where they are.
            others: What the other workers run in, if there are any.
        """
        guard = self._branch.guard if others is None else new_guard()
        while (item := queue.take_nowait() or await queue.take()) is not None:
            try:
                if self._run.journal.must_pause:
                    await self._run.journal.pause()
                if not self._is_decided:
                    await self._account_for(item, queue, guard)
            except Stopping:  # passed on, it would cancel the other workers, who are given time
                return
            finally:
                queue.put_down()
            if self._is_decided:
                if others is not None:
                    others.cancel()
                return

    async def _account_for(self, item: ItemRecord, queue: ItemQueue, guard: TaskGuard) -> None:
        news, worker = self._run.news, self._place.worker(item.idx)
        if self._run.chronicle is not None:
            self._begun = max(self._begun, item.idx)
        try:
            if isinstance(worker, Step):
                await self._step(worker, item, guard)
            else:
                await self._follow(worker, item, guard)
        except Parked:
            queue.rest(item, again=self._run.news != news)
            return
        except Left:
            if self._run.journal.stopping:  # the others are given time
                raise Stopping from None
            raise
        except anyio.get_cancelled_exc_class():
            self._note_cancelled(item)
            raise
        self._note_ended(item)

    async def _follow(self, worker: Plan, item: ItemRecord, guard: TaskGuard) -> None:
        """Take the branch of an item whose worker is a pattern to its end."""
        branch = ItemBranch(self._branch, worker, self._path, self._visit, item, item_key=self._pattern.item_key)
        if self._run.chronicle is not None:
            self._run.chronicle.enter(HappeningKind.ITEM, branch.item_place)
            branch.following = self._following
        branch.work_in(guard)
        if self._run.room is not None and not self._run.journal.is_stored:
            self._branch.inner[branch.path] = branch
        try:
            await self._advance(branch)  # its last commit is the item's
            self._branch.inner.pop(branch.path, None)
        except Parked:
            branch.put_aside()
            raise
        except WorkflowError as error:
            await self._commit(item, ItemRecord(item.idx, item.input, ItemStatus.FAILED, error=error))

    async def _step(self, worker: Step, item: ItemRecord, guard: TaskGuard) -> None:
        """Run a plain worker, and save what has become of the item."""
        context = self._branch.context(f"{self._path}[{item.idx}]", self._place.within)
        context.outer = self._branch.view
        try:
            value = item.input.read(self._pattern.item_codec)
            made = await perform(worker, value, context, guard, self._run)
            outcome = ItemRecord(item.idx, item.input, ItemStatus.OK, self._stored(made, context.path))
            blobs = self._blobs(outcome, context)
        except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
            failure = self._run.secrets.cover(own_failure(error))
            await self._commit(item, ItemRecord(item.idx, item.input, ItemStatus.FAILED, error=failure))
            return
        also = () if context.attached is None else context.attached.also
        try:
            await self._commit(item, outcome, blobs, also)
        except (StatementFailed, StatementRefused) as error:  # what it has written to tables of the application
            failure = self._run.secrets.cover(error)
            await self._commit(item, ItemRecord(item.idx, item.input, ItemStatus.FAILED, error=failure))

    def _blobs(self, outcome: ItemRecord, context: StepContext) -> Mapping[str, bytes | None] | None:
        """The bytes that an item brings.

        Raises:
            CannotStore: They may not be kept.
        """
        blobs = blobs_of([outcome.value] if outcome.value else (), context.attached)
        if blobs:
            check_blobs(blobs, repr(context.path), self._run.limits, self._run.secrets)
        return blobs

    def _stored(self, made: object, path: str) -> Value:
        """What a worker has made, as it is saved.

        Raises:
            CannotStore: It has no stored form, or holds a secret.
            ValueTooLarge: It is.
        """
        where = f"the value of {path}"
        try:
            value = stored(made, self._pattern.value_codec, where)
        except CannotStore:
            refuse_unawaited(made, f"the worker of {self._pattern.name!r}")
            raise
        self._run.secrets.check(value.data, where)
        if self._run.limits.mind(len(value.data)):
            note_size(self._run, path, "the value", len(value.data))
        return value

    async def _commit(
        self,
        item: ItemRecord,
        outcome: ItemRecord,
        blobs: Mapping[str, bytes | None] | None = None,
        also: tuple[Statement, ...] = (),
    ) -> None:
        if self._run.journal.is_stored:
            parts = Parts(outcomes=(outcome.stored(self._path, self._visit), *self._run.take_cancelled()))
            if self._run.chronicle is not None:
                parts["happened"] = self._said(self._run.chronicle, outcome)
            if blobs:
                parts["blobs"] = blobs
            if also:
                parts["also"] = also
            await self._run.journal.save(parts)
        if blobs:
            self._run.blobs.keep(blobs)
        item.status, item.value, item.error = outcome.status, outcome.value, outcome.error

    def _said(self, chronicle: Chronicle, outcome: ItemRecord) -> tuple[Happening, ...]:
        """What the commit of an item says for the history: it has ended, and whoever worked on it takes the next."""
        stored, name = outcome.stored(self._path, self._visit), item_place(self._branch, self._place, outcome.idx)
        how = AttemptOutcome(outcome.status)
        end = chronicle.end(name, how, error=stored.error, value=stored.value)
        return (end, *self._following(ok=how is AttemptOutcome.OK))

    def _following(self, *, ok: bool) -> tuple[Happening, ...]:
        """The item that begins when one has ended, if one does: they are taken in their order, by whomever."""
        enough, chronicle = self._pattern.enough, self._run.chronicle
        decides = self._done + 1 == enough if ok else self._pattern.failures is None and enough is None
        new = (item for item in self._unpromised if item.idx > self._begun)  # others took the place of those that rest
        item = None if decides or self._is_decided else next(new, None)
        if item is None or chronicle is None:
            return ()
        return (chronicle.promise(HappeningKind.ITEM, item_place(self._branch, self._place, item.idx)),)

    @property
    def _has_failed(self) -> bool:
        """Whether an item has, and with it all; not where enough have ended well, whichever came first."""
        return self._failed > 0 and self._pattern.failures is None and not self._has_enough

    @property
    def _has_enough(self) -> bool:
        """Whether as many items have ended well as are wanted, where not all are."""
        return self._pattern.enough is not None and self._done >= self._pattern.enough

    @property
    def _is_decided(self) -> bool:
        """Whether no more items are to be worked on."""
        return self._has_failed or self._has_enough

    def _note_cancelled(self, item: ItemRecord) -> None:
        if item.status is ItemStatus.WAITING:
            item.status = ItemStatus.CANCELLED
            if self._run.chronicle is not None:
                name = item_place(self._branch, self._place, item.idx)
                self._run.chronicle.note(self._run.chronicle.end(name, AttemptOutcome.CANCELLED))
            self._run.note_cancelled(item.stored(self._path, self._visit))

    def _note_ended(self, item: ItemRecord) -> None:
        self._count(item)
        if self._run.room is not None:
            done, total = self._done + self._failed, len(self._items)
            saved = SavedItem(item.stored(self._path, self._visit), done, total, time())
            self._run.room.ended(self._run.run_id, saved)
        if self._run.is_observed:
            ok, total = item.status is ItemStatus.OK, len(self._items)
            self._run.emit(ItemEnded, path=self._path, index=item.idx, ok=ok, done=self._done, total=total)

    def _count(self, item: ItemRecord) -> None:
        if item.status is ItemStatus.OK:
            self._done += 1
        elif item.status is ItemStatus.FAILED:
            self._failed += 1


def _reason(errors: BaseExceptionGroup[BaseException]) -> BaseException | None:
    """What made a group of workers end: the first error, others may have met the same; None if they were cancelled."""
    cancelled = anyio.get_cancelled_exc_class()
    first = next((error for error in leaves_of(errors) if not isinstance(error, cancelled)), None)
    return find(errors, KeyboardInterrupt) or first
