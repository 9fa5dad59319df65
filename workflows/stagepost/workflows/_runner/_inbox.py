"""What somebody outside sends to runs: answers, signals, and word of effects in doubt."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import (
    PLAIN,
    CannotStore,
    CorruptRun,
    OpenWait,
    RunNotFound,
    RunNotOpen,
    WaitKind,
    WaitNotFound,
    codec_for,
)

from .._background._desk import Desk
from .._execution._children import below
from .._pattern_errors import describe
from .._patterns._pattern import Pattern
from .._plans._places import step_at
from .._runs._fitness import Fitness
from .._runs._ids import read_wait_id, wait_id_of
from .._runs._registry import Registry
from .._steps._step import Receives
from ..errors import UnknownSignal
from ._checks import check_id
from ._hints import ended_by, no_doubt, no_wait, open_waits


@dataclass(frozen=True, slots=True)
class PendingWait:
    """Something that a run waits for.

    Attributes:
        id: Its id, for `Runner.answer`.
        run_id: The run.
        workflow: Name of its workflow.
        place: The step that waits, as `Runner.settle` takes it.
        kind: What ends it: an ``answer``, a ``signal``, the time (``timer``), the end of another run (``child``), or
            word of an effect in doubt (``effect``).
        name: Of the step, the signal, the other run, or the effect's key, by its kind.
        shown: What ``show=`` gives to whoever answers, or settles an effect, as JSON values.
        due_at: When it ends by itself (UTC); None for never.
        opened_at: Since when the run waits (UTC).
        blocked: Why the run (or the other one, if it waits for that) cannot go on in this process; None if it can.
            Answers, signals and word of effects are refused until it can.
    """

    id: str
    run_id: str
    workflow: str
    place: str
    kind: WaitKind
    name: str
    shown: Any
    due_at: datetime | None
    opened_at: datetime
    blocked: str | None = None


class Inbox:
    """Checks what is sent against the definition of the run's workflow, and stores it.

    Args:
        desk: Where runs are worked on.
        registry: Their definitions.
        fitness: Says which of them can go on.
    """

    def __init__(self, desk: Desk, registry: Registry, fitness: Fitness) -> None:
        self._desk = desk
        self._store = desk.means.store
        self._secrets = desk.means.secrets
        self._registry = registry
        self._fitness = fitness

    async def waits(self, run_id: str | None, kind: WaitKind | None) -> Sequence[PendingWait]:
        """Open waits of all runs; or of one run and those below it and, instead of waits for other runs, of those."""
        if run_id is not None:
            await self._store.info(check_id(run_id))  # raises if there is none
        found = [wait async for wait in self._all(run_id)]
        waits = [await self._pending(wait) for wait in found if kind is None or wait.wait.kind is kind]
        return tuple(waits if run_id is None else sorted(waits, key=attrgetter("id")))

    async def answer(self, wait_id: str, value: object, by: str | None) -> str:
        """Store an answer; returns the run's id."""
        check_id(wait_id, "a wait")
        self._secrets.check_text(by, f"by= of the answer to {self._secrets.mask(wait_id)}")
        run_id, place, name = read_wait_id(wait_id)
        if not (run_id and place):
            raise await no_wait(self._store, wait_id, wait_id, "")
        step = step_at((await self._workflow(run_id)).plan, place)
        receives = None if step is None else step.receives
        try:
            await self._answer(wait_id, value, receives, name=name, by=by)
        except (WaitNotFound, CannotStore) as error:
            instead = await ended_by(self._store, run_id, place)
            if instead is not None:
                raise WaitNotFound(run_id, place, instead) from error
            if isinstance(error, CannotStore):
                raise
            raise await no_wait(self._store, wait_id, run_id, place) from error
        return run_id

    async def _answer(
        self, wait_id: str, value: object, receives: Receives | None, *, name: str, by: str | None
    ) -> None:
        run_id, place, _ = read_wait_id(wait_id)
        if receives is None or receives.kind is not WaitKind.ANSWER:
            raise WaitNotFound(run_id, place)
        where = f"the answer to {wait_id}"
        data = receives.codec.dump(receives.codec.convert(value, where), where)
        self._secrets.check(data, where)
        self._store.limits.check(len(data), where)
        await self._store.answer(run_id, place, data, name=name or _asked(receives), by=by)

    async def signal(self, run_id: str, name: str, value: object, dedup: str | None) -> bool:
        """Store a signal; returns whether it is new."""
        check_id(run_id)
        self._secrets.check_text(
            dedup, f"dedup= of signal {self._secrets.mask(name)!r} to run {self._secrets.mask(run_id)!r}"
        )
        codecs = (await self._workflow(run_id)).signals
        if name not in codecs:
            raise UnknownSignal(run_id, name, tuple(codecs))
        where = f"signal {name!r} to run {run_id!r}"
        data = codecs[name].dump(codecs[name].convert(value, where), where)
        self._secrets.check(data, where)
        self._store.limits.check(len(data), where)
        return await self._store.signal(run_id, name, data, dedup=dedup)

    async def settle(self, run_id: str, key: str, value: bytes | None, place: str | None) -> None:
        """Store what became of an effect in doubt."""
        check_id(run_id)
        self._secrets.check(value or b"", f"the value of effect {key!r}")
        await self._workflow(run_id)
        found = [
            wait.wait.place async for wait in open_waits(self._store, run_id=run_id) if _is_effect(wait, key, place)
        ]
        if len(found) > 1:
            raise ValueError(f"effect {key!r} of run {run_id!r} is in doubt at {', '.join(found)}: give place= too")
        if not found:
            raise await no_doubt(self._store, run_id, key, place)
        await self._store.settle(run_id, found[0], key, value)

    async def _workflow(self, run_id: str) -> Pattern:
        """The workflow of an open run that can go on: nothing is accepted for one that cannot.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
            WorkflowError: It cannot.
            CorruptRun: It is not what was stored.
        """
        info = await self._store.info(run_id)
        if not info.status.is_open:
            raise RunNotOpen(run_id, info.status)
        if self._desk.left_open.is_fit(info):
            return self._registry.find(info).workflow
        return self._fitness.check(await self._store.load(run_id)).definition.workflow

    async def _pending(self, found: OpenWait) -> PendingWait:
        wait = found.wait
        reason = await self._reason(found.run_id)
        if reason is None and wait.kind is WaitKind.CHILD:
            reason = await self._reason(wait.name)
        blocked = None if reason is None else self._secrets.mask(describe(reason))
        return _pending(found, blocked)

    async def _reason(self, run_id: str) -> BaseException | None:
        """Why a run cannot go on, as far as is known; where nobody has called `recover` it is looked at."""
        reason = self._desk.left_open.reason(run_id)
        if reason is not None or self._desk.left_open.knows_all or self._desk.works_on(run_id):
            return reason
        try:
            snapshot = await self._store.load(run_id)
        except CorruptRun as error:
            return error
        except RunNotFound:
            return None
        return self._fitness.reason(snapshot) if snapshot.run.status.is_open else None

    async def _all(self, run_id: str | None) -> AsyncIterator[OpenWait]:
        """Open waits; those of one run with those of the runs that it waits for, each run once."""
        if run_id is None:
            async for wait in open_waits(self._store):
                yield wait
            return
        seen, ahead = {run_id}, [run_id]
        while ahead:
            async for wait in self._below(ahead.pop()):
                if wait.wait.kind is not WaitKind.CHILD:
                    yield wait
                elif wait.wait.name not in seen and not wait.wait.name.startswith(below(wait.run_id)):
                    seen.add(wait.wait.name)
                    ahead.append(wait.wait.name)

    async def _below(self, run_id: str) -> AsyncIterator[OpenWait]:
        """Those of a run and of all that its steps have started, which may wait while it goes on itself."""
        async for wait in open_waits(self._store, run_id=run_id):
            yield wait
        if await self._starts_others(run_id):
            async for wait in open_waits(self._store, below=run_id):
                yield wait

    async def _starts_others(self, run_id: str) -> bool:
        try:
            return self._registry.starts_others(await self._store.info(run_id))
        except RunNotFound:  # it has ended and was forgotten since
            return False


def stored(value: object, where: str) -> bytes:
    """The stored form of a value whose type nobody has declared: a model's own, or plain JSON."""
    if isinstance(value, BaseModel):
        return codec_for(type(value)).dump(value, where)
    return PLAIN.dump(value, where)


def _is_effect(found: OpenWait, key: str, place: str | None) -> bool:
    wait = found.wait
    return wait.kind is WaitKind.EFFECT and wait.name == key and place in (None, wait.place)


def _asked(receives: Receives) -> str | None:
    """What has to be asked at a place, if the step there may ask one thing after the other."""
    return None if receives.only else receives.name


def _pending(found: OpenWait, blocked: str | None) -> PendingWait:
    wait = found.wait
    return PendingWait(
        id=wait_id_of(found.run_id, wait),
        run_id=found.run_id,
        workflow=found.workflow,
        place=wait.place,
        kind=wait.kind,
        name=wait.name,
        shown=None if wait.prompt is None else from_json(wait.prompt),
        due_at=wait.due_at,
        opened_at=wait.opened_at,
        blocked=blocked,
    )
