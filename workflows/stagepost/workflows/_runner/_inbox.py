"""What somebody outside sends to runs: answers, signals, and word of effects in doubt."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from operator import attrgetter
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json

from stagepost.checkpoint import (
    PLAIN,
    CheckpointStore,
    EffectNotFound,
    OpenWait,
    RunNotFound,
    WaitKind,
    WaitNotFound,
    codec_for,
)

from .._execution._children import below
from .._programs._places import step_at
from .._runs._ids import read_wait_id, wait_id_of
from .._runs._registry import Registry
from .._values._secrets import Secrets
from ..errors import UnknownSignal
from ._checks import check_id

_PAGE = 200
_NEAR = 3  # ids of waits that an error names


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


class Inbox:
    """Checks what is sent against the definition of the run's workflow, and stores it.

    Args:
        store: Where runs are kept.
        registry: Their definitions.
        secrets: What must not be stored.
    """

    def __init__(self, store: CheckpointStore, registry: Registry, secrets: Secrets) -> None:
        self._store = store
        self._secrets = secrets
        self._registry = registry

    async def waits(self, run_id: str | None, kind: WaitKind | None) -> Sequence[PendingWait]:
        """Open waits of all runs; or of one run and those below it and, instead of waits for other runs, of those."""
        if run_id is not None:
            await self._store.info(check_id(run_id))  # raises if there is none
        found = [wait async for wait in self._all(run_id)]
        waits = [_pending(wait) for wait in found if kind is None or wait.wait.kind is kind]
        return tuple(waits if run_id is None else sorted(waits, key=attrgetter("id")))

    async def answer(self, wait_id: str, value: object, by: str | None) -> str:
        """Store an answer; returns the run's id."""
        check_id(wait_id, "a wait")
        self._secrets.check_text(by, f"by= of the answer to {self._secrets.mask(wait_id)}")
        run_id, place, name = read_wait_id(wait_id)
        if not place:
            raise WaitNotFound(wait_id, place, near=await self._near(wait_id))
        info = await self._store.info(run_id)
        step = step_at(self._registry.find(info).workflow.program, place)
        if step is None or step.receives is None or step.receives.kind is not WaitKind.ANSWER:
            raise WaitNotFound(run_id, place, near=await self._near(wait_id))
        codec, where = step.receives.codec, f"the answer to {wait_id}"
        data = codec.dump(codec.convert(value, where), where)
        self._secrets.check(data, where)
        self._store.limits.check(len(data), where)
        await self._store.answer(run_id, place, data, name=name or step.receives.name, by=by)
        return run_id

    async def signal(self, run_id: str, name: str, value: object, dedup: str | None) -> bool:
        """Store a signal; returns whether it is new."""
        check_id(run_id)
        self._secrets.check_text(
            dedup, f"dedup= of signal {self._secrets.mask(name)!r} to run {self._secrets.mask(run_id)!r}"
        )
        info = await self._store.info(run_id)
        codecs = self._registry.find(info).workflow.signals
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
        await self._store.info(run_id)  # raises if there is none
        found = [wait.wait.place async for wait in self._open(run_id=run_id) if _is_effect(wait, key, place)]
        if len(found) > 1:
            raise ValueError(f"effect {key!r} of run {run_id!r} is in doubt at {', '.join(found)}: give place= too")
        if not found:
            raise EffectNotFound(run_id, key, place)
        await self._store.settle(run_id, found[0], key, value)

    async def _near(self, wait_id: str) -> Sequence[str]:
        """Ids of open waits that somebody may have meant: of the same run, of the same place, or alike."""
        page = await self._store.waits(limit=_PAGE)
        known = {wait_id_of(wait.run_id, wait.wait): wait for wait in page if wait.wait.kind is WaitKind.ANSWER}
        run_id, _, place = wait_id.rpartition("/")
        same = [id_ for id_, wait in known.items() if wait.run_id in (run_id, wait_id) or id_.endswith(f"/{place}")]
        return tuple(dict.fromkeys((*same, *get_close_matches(wait_id, known))))[:_NEAR]

    async def _all(self, run_id: str | None) -> AsyncIterator[OpenWait]:
        """Open waits; those of one run with those of the runs that it waits for, each run once."""
        if run_id is None:
            async for wait in self._open():
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
        async for wait in self._open(run_id=run_id):
            yield wait
        if await self._starts_others(run_id):
            async for wait in self._open(below=run_id):
                yield wait

    async def _starts_others(self, run_id: str) -> bool:
        try:
            return self._registry.starts_others(await self._store.info(run_id))
        except RunNotFound:  # it has ended and was forgotten since
            return False

    async def _open(self, *, run_id: str | None = None, below: str | None = None) -> AsyncIterator[OpenWait]:
        """Those of all runs, of one, or of those below one."""
        after = ""
        while page := await self._store.waits(run_id=run_id, below=below, after=after, limit=_PAGE):
            for wait in page:
                yield wait
            after = f"{page[-1].run_id}/{page[-1].wait.place}"


def stored(value: object, where: str) -> bytes:
    """The stored form of a value whose type nobody has declared: a model's own, or plain JSON."""
    if isinstance(value, BaseModel):
        return codec_for(type(value)).dump(value, where)
    return PLAIN.dump(value, where)


def _is_effect(found: OpenWait, key: str, place: str | None) -> bool:
    wait = found.wait
    return wait.kind is WaitKind.EFFECT and wait.name == key and place in (None, wait.place)


def _pending(found: OpenWait) -> PendingWait:
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
    )
