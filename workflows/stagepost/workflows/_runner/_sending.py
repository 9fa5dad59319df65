"""What somebody outside sends to runs: answers, signals, word of effects in doubt, and requests to end.

All of it is only written. Whoever owns the run, in this process or another, hears of it from the store.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from stagepost.checkpoint import (
    CannotStore,
    Catalogue,
    Codec,
    Limits,
    OpenWait,
    Page,
    RunInfo,
    RunNotFound,
    RunNotOpen,
    WaitKind,
    WaitNotFound,
)
from stagepost.checkpoint import Inbox as StoreInbox

from .._ids import check_given, read_wait_id
from .._patterns._pattern import Pattern
from .._plans._places import step_at
from .._runs._registry import Registry
from .._steps._receives import Receives
from .._values._expected import schema_of
from .._values._secrets import Secrets
from ..errors import UnknownSignal
from ._hints import check_id, codec_at, ended_by, no_doubt, no_wait, open_waits, stored
from ._pending import PendingWait, pending_wait
from ._waits_below import page_below

_AT_ONCE = 200  # waits that are read together


class InboxStore(StoreInbox, Catalogue, Protocol):
    """A store as far as an inbox needs it: `SqliteStore.inbox` gives one to other processes."""

    @property
    def limits(self) -> Limits:
        """How large values may be."""
        ...


class Sending(ABC):
    """Checks what is sent against the definition of the run's workflow, and stores it."""

    _store: InboxStore
    _registry: Registry
    _secrets: Secrets

    @abstractmethod
    async def _definition(self, info: RunInfo) -> Pattern | None:
        """The workflow of an open run that can go on; None if nobody knows it here.

        Raises:
            WorkflowError: It cannot go on.
            CorruptRun: It is not what was stored.
        """

    @abstractmethod
    async def _blocked(self, run_id: str, why: str | None) -> str | None:
        """Why a run cannot go on, given what stands in its row."""

    def _check_open(self) -> None:  # noqa: B027  # an inbox of another process is always open
        """See that anything may be asked now."""

    async def _passed_on(self, run_id: str) -> None:  # noqa: B027  # only a runner works on runs
        """Something was written for a run: let whoever owns it in this process hear of it before the caller goes on."""

    async def waits(self, run_id: str | None = None, *, kind: WaitKind | None = None) -> Sequence[PendingWait]:
        """All that runs wait for, in the order of their ids: an inbox for whoever answers.

        That loads each of them with its prompt: of one run, or of few, this is what to use, and else `list_waits`.

        Args:
            run_id: Only what this run and those that its steps have started wait for; where it waits for other runs,
                what those wait for instead.
            kind: Only waits of this kind, such as ``WaitKind.ANSWER``.

        Raises:
            RunNotFound: There is no such run.
        """
        found, after = list[PendingWait](), ""
        while True:
            page = await self.list_waits(run_id, kind=kind, after=after, limit=_AT_ONCE)
            found += page.items
            if page.next is None:
                return tuple(found)
            after = page.next

    async def list_waits(
        self, run_id: str | None = None, *, kind: WaitKind | None = None, after: str | None = None, limit: int = 100
    ) -> Page[PendingWait]:
        """A page of what runs wait for, in the order of their ids.

        Args:
            run_id: As for `waits`.
            kind: Only waits of this kind, such as ``WaitKind.ANSWER``.
            after: `Page.next` of the page before.
            limit: At most so many.

        Returns:
            A page; waits that cannot be read are in `Page.damaged`.

        Raises:
            RunNotFound: There is no such run.
            ValueError: `limit` is less than 1.
        """
        self._check_open()
        if run_id is None:
            page = await self._store.waits(kind=kind, after=after, limit=limit)
        else:
            await self._store.info(check_id(run_id))  # raises if there is none
            page = await page_below(self._store, self._registry, run_id, kind=kind, after=after, limit=limit)
        waits = [pending_wait(wait, await self._why(wait)) for wait in page.items]
        return Page(tuple(waits), page.next, page.damaged)

    async def schema(self, wait_id: str) -> Mapping[str, Any] | None:
        """JSON schema of what ends a wait, an answer or a signal: for a form to answer it with.

        Args:
            wait_id: The wait, as in `PendingWait.id`.

        Returns:
            The schema. None if any JSON value will do, if nothing that is sent ends it, and if the run's workflow is
            not known here.

        Raises:
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: The run cannot go on in its workflow as it is now defined.
        """
        self._check_open()
        run_id, place, name = read_wait_id(wait_id)
        workflow = await self._workflow(run_id)
        step = None if workflow is None else step_at(workflow.plan, place)
        receives = None if step is None else step.receives
        if receives is None:
            return None
        if receives.type_of is None:
            return schema_of(receives.codec)
        return schema_of(await codec_at(self._store, receives, run_id, place, name or None))

    async def answer(self, wait_id: str, value: object, *, by: str | None = None) -> None:
        """Answer a `Wait`; when this returns the answer is on disk, and the run goes on.

        Args:
            wait_id: The wait, as in `PendingWait.id`.
            value: The answer; checked against the wait's ``expect=``.
            by: Who answers, in at most 1,000 characters; stored with it.

        Raises:
            ValueError: `by` is too long.
            WaitNotFound: No step waits there for an answer.
            AlreadyAnswered: Another answer came first, or the time was up.
            CannotStore: It is no valid answer; the wait stays open.
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: The run cannot go on in its workflow as it is now defined; nothing is stored.
        """
        self._check_open()
        if not isinstance(wait_id, str):
            check_id(wait_id, "a wait")
        check_given("by", by, may_be_empty=True)
        if self._secrets.has_any:
            self._secrets.check_text(by, f"by= of the answer to {self._secrets.mask(wait_id)}")
        run_id, place, _ = read_wait_id(wait_id)
        if not (run_id and place):
            raise await no_wait(self._store, wait_id, wait_id, "")
        workflow = await self._workflow(run_id)
        try:
            data, asked = await self._answer_to(wait_id, value, workflow)
            checked = workflow is not None
            await self._store.answer(run_id, place, data, name=asked, by=by, checked=checked)
            await self._passed_on(run_id)
        except (WaitNotFound, CannotStore) as error:
            instead = await ended_by(self._store, run_id, place)
            if instead is not None:
                raise WaitNotFound(run_id, place, instead) from error
            if isinstance(error, CannotStore):
                raise
            raise await no_wait(self._store, wait_id, run_id, place) from error

    async def signal(self, run_id: str, name: str, value: object = None, *, dedup: str | None = None) -> bool:
        """Send a signal to a run: to the `Receive` that waits for it, or kept until one does.

        Steps that read signals (`StepContext.signals`) find it as well; a run that is parked is not woken by that.

        Args:
            run_id: The run.
            name: The signal's name.
            value: What it carries; checked against ``expect=`` of the step that receives it.
            dedup: A signal of this name and `dedup`, of at most 1,000 characters, is taken once, however often it is
                sent.

        Returns:
            Whether it is new.

        Raises:
            UnknownSignal: The workflow receives no such signal.
            ValueError: `dedup` is too long.
            CannotStore: `value` is not what the step expects.
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: The run cannot go on in its workflow as it is now defined; nothing is stored.
        """
        self._check_open()
        check_id(run_id)
        check_given("dedup", dedup, may_be_empty=True)
        check_given("name", name)
        shown = f"signal {self._secrets.mask(name)!r} to run {self._secrets.mask(run_id)!r}"
        self._secrets.check_text(dedup, f"dedup= of {shown}")
        workflow = await self._workflow(run_id)
        if workflow is not None and name not in workflow.signals:
            raise UnknownSignal(run_id, name, tuple(workflow.signals))
        data = self._stored(value, None if workflow is None else workflow.signals[name], shown)
        is_new = await self._store.signal(run_id, name, data, dedup=dedup, checked=workflow is not None)
        await self._passed_on(run_id)
        return is_new

    async def settle(
        self, run_id: str, key: str, *, value: object = None, retry: bool = False, place: str | None = None
    ) -> None:
        """Say what became of an effect in doubt (see `StepContext.once`), so that its run goes on.

        Args:
            run_id: The run.
            key: The effect's key.
            value: It has happened, and this is what it returned.
            retry: It has not happened: the step does it now.
            place: Which step, if several are in doubt about an effect of this key.

        Raises:
            ValueError: Both `value` and `retry`, or several steps and no `place`.
            EffectNotFound: The run waits for no word of such an effect.
            CannotStore: `value` has no stored form.
            RunNotFound: There is no such run.
            RunNotOpen: The run has ended.
            UnknownWorkflow: The runner does not know its workflow.
            IncompatibleCheckpoint: The run cannot go on in its workflow as it is now defined; nothing is stored.
        """
        self._check_open()
        if retry and value is not None:
            raise ValueError("settle() takes value= (it has happened) or retry=True (it has not), and got both")
        data = None if retry else stored(value, f"what effect {key!r} returned")
        check_id(run_id)
        self._secrets.check(data or b"", f"the value of effect {key!r}")
        await self._workflow(run_id)
        found = [
            wait.wait.place async for wait in open_waits(self._store, run_id=run_id) if _is_effect(wait, key, place)
        ]
        if len(found) > 1:
            raise ValueError(f"effect {key!r} of run {run_id!r} is in doubt at {', '.join(found)}: give place= too")
        if not found:
            raise await no_doubt(self._store, run_id, key, place)
        await self._store.settle(run_id, found[0], key, data)
        await self._passed_on(run_id)

    async def _workflow(self, run_id: str) -> Pattern | None:
        """The workflow of an open run: nothing is accepted for one that has ended, or that cannot go on."""
        info = await self._store.info(run_id)
        if not info.status.is_open:
            raise RunNotOpen(run_id, info.status)
        return await self._definition(info)

    async def _answer_to(self, wait_id: str, value: object, workflow: Pattern | None) -> tuple[bytes, str | None]:
        """An answer as it is stored, and what has to be asked for it."""
        where = f"the answer to {wait_id}"
        run_id, place, name = read_wait_id(wait_id)
        if workflow is None:
            return self._stored(value, None, where), name or None
        step = step_at(workflow.plan, place)
        receives = None if step is None else step.receives
        if receives is None or receives.kind is not WaitKind.ANSWER:
            raise WaitNotFound(run_id, place)
        asked = name or _asked(receives)
        codec: Codec[Any] | None = receives.codec
        if receives.type_of is not None:
            codec = await codec_at(self._store, receives, run_id, place, asked)
        return self._stored(value, codec, where), asked

    def _stored(self, value: object, codec: Codec[Any] | None, where: str) -> bytes:
        data = stored(value, where) if codec is None else codec.dump(codec.convert(value, where), where)
        if self._secrets.has_any:
            self._secrets.check(data, where)
        limits = self._store.limits
        if len(data) > limits.least:
            limits.check(len(data), where)
        return data

    async def _why(self, found: OpenWait) -> str | None:
        """Why the run of a wait cannot go on, or the one that it waits for."""
        why = await self._blocked(found.run_id, found.blocked)
        if why is None and found.wait.kind is WaitKind.CHILD:
            try:
                child = await self._store.info(found.wait.name)
            except RunNotFound:
                return None
            return await self._blocked(child.run_id, child.blocked) if child.status.is_open else None
        return why


def _is_effect(found: OpenWait, key: str, place: str | None) -> bool:
    wait = found.wait
    return wait.kind is WaitKind.EFFECT and wait.name == key and place in (None, wait.place)


def _asked(receives: Receives) -> str | None:
    """What has to be asked at a place, if the step there may ask one thing after the other."""
    return None if receives.only else receives.name
