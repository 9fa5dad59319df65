"""What is asked of a runner: to make new runs of others."""

from collections.abc import Mapping
from typing import Final

from stagepost.checkpoint import ItemStatus, Keep, RunInfo
from stagepost.hub import check_name

from .._runs._completed import Completions
from .._runs._forking import EffectsChoice, ForkOrder
from .._runs._starting import Order
from ..errors import ForkRefused
from ._hints import check_id
from ._retention import KeepChoice, kept
from ._run import Run
from ._views import Views

_FAILED: Final = (ItemStatus.FAILED, ItemStatus.CANCELLED)
_KEEP_ALL: Final = "start runs with keep='all' that are to be forked from where they have been"


class Forks(Views):
    """The part of a `Runner` that makes new runs of others."""

    async def fork(
        self,
        origin: str,
        /,
        *,
        at: int | str | None = None,
        changes: Mapping[str, object] | None = None,
        effects: EffectsChoice | None = None,
        run_id: str | None = None,
        trace: str | None = None,
        keep: KeepChoice | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Run:
        """Make a new run that goes on where another one stands, or has stood; that one stays as it is.

        The other run may be open, also while it is worked on, or have ended in any way. What it had done before that
        point is not done again: items of a fan-out that went well keep their values, the others run again. The new run
        has no key, and a trace of its own. Waits, signals and child runs are not taken over: its steps ask anew.

        Args:
            origin: Id of the other run.
            at: Where: a number of its history (right before the next number was saved), or the path of a step that has
                completed, the last time if it has several times. Both need a run that keeps all. None for where it
                stands, has failed or has ended.
            changes: Values in the place of those of its state. Of a list that grows, the whole list; a `Continued`
                shares its beginning. The way on from the last step is decided already, and items that were frozen stay.
            effects: What becomes of effects (`StepContext.once`) that the other run has had after that point:
                ``"again"`` lets them happen again, ``"keep"`` gives the steps what they returned the first time, or
                has the fork wait for word of those in doubt.
            run_id: The new run's name; by default one that sorts by time.
            trace: The trace that it belongs to; by default its own.
            keep: What stays of it, see `Keep`; by default as of the other run.
            labels: What it can be found by, beside the labels of the other run.

        Raises:
            RunNotFound: There is no such run.
            NotInHistory: Its history has no such number, or it keeps none.
            ForkRefused: No step of this path has completed, as far as is known.
            EffectsAgain: Effects would happen again, and `effects` does not say so.
            IncompatibleCheckpoint: The workflow no longer has the place where the run stood.
            UnknownWorkflow: The runner does not know its workflow.
            CannotStore: Changes are no part of a state of the workflow, or hold a secret.
            ValueTooLarge: One is.
            RunConflict: `run_id` stands for a run that is another one's fork, or none.
            StoreError: The fork could not be stored.
        """
        info = await self._store.info(check_id(origin))
        number = await self._completed(info, at) if isinstance(at, str) else at
        order = self._fork_order(info, run_id, trace, keep, labels)
        fork = ForkOrder(number=number, changes=dict(changes or {}), effects=effects, order=order)
        return await self._open().fork(origin, fork)

    async def retry_items(
        self,
        origin: str,
        /,
        *,
        path: str | None = None,
        effects: EffectsChoice = "keep",
        run_id: str | None = None,
        trace: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Run:
        """Fork a run at a fan-out, so that the items run again that failed, were cancelled or were not begun.

        The values of the others are given. The run may have failed at the fan-out. Where failures are collected
        (``failures=``), it has gone on after it; then it has to be a run that keeps all.

        Args:
            origin: Id of the run.
            path: Path of the fan-out; by default the last one that had failures.
            effects: As for `fork`; by default what failed items have done by `StepContext.once` is not done again.
            run_id: The new run's name; by default one that sorts by time.
            trace: The trace that it belongs to; by default its own.
            labels: What it can be found by, beside the labels of the other run.

        Raises:
            RunNotFound: There is no such run.
            ForkRefused: No item has failed there, as far as is known.
            WorkflowError: As by `fork`.
            CheckpointError: As by `fork`.
        """
        info = await self._store.info(check_id(origin))
        number = await self._failed_at(info, path)
        order = self._fork_order(info, run_id, trace, None, labels)
        return await self._open().fork(origin, ForkOrder(number=number, effects=effects, order=order))

    def _fork_order(
        self,
        info: RunInfo,
        run_id: str | None,
        trace: str | None,
        keep: KeepChoice | None,
        labels: Mapping[str, str] | None,
    ) -> Order:
        order = Order(
            run_id=run_id,
            remember_id=run_id is not None,
            labels=dict(labels or {}),
            trace=self._open().starter.ambient() if trace is None else trace,
            keep=info.keep if keep is None else kept(keep),
        )
        order.check(self._secrets, info.workflow)
        if run_id is not None:
            check_name("run id", run_id)
        return order

    async def _completed(self, info: RunInfo, path: str) -> int:
        """Number of the version that a step has saved when it completed last."""
        if info.keep is not Keep.ALL:
            raise ForkRefused(info.run_id, f"nobody knows when {path!r} completed, as it keeps no history: {_KEEP_ALL}")
        found, page = Completions(path), await self._store.happenings(info.run_id)
        found.read(page.items)
        while page.next is not None:
            page = await self._store.happenings(info.run_id, after=page.next)
            found.read(page.items)
        if found.number is None:
            raise ForkRefused(info.run_id, f"no step {path!r} has completed in it: give a number of its history")
        return found.number

    async def _failed_at(self, info: RunInfo, path: str | None) -> int | None:
        """Where items have failed: the number before their join; None if the run stands there."""
        items = (await self._store.head(info.run_id)).items
        if any(item.status in _FAILED and path in (None, item.path) for item in items):
            return None
        number = await self._store.last_failures(info.run_id, path=path)
        if number is not None:
            return number
        where = "" if path is None else f" at {path!r}"
        if info.keep is not Keep.ALL:
            why = f"no item{where} is known that failed, as its fan-outs are over: {_KEEP_ALL}"
            raise ForkRefused(info.run_id, why)
        raise ForkRefused(info.run_id, f"no item{where} has failed")
