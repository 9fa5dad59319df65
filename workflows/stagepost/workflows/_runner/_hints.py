"""What may have been meant by who names a wait or an effect that there is none of."""

from collections.abc import AsyncIterator
from difflib import get_close_matches
from typing import Final

from stagepost.checkpoint import CheckpointStore, EffectNotFound, OpenWait, WaitKind, WaitNotFound

from .._runs._ids import wait_id_of

_PAGE = 200
_NEAR = 3  # ids of waits that an error names
_ENDED_BY: Final = {
    WaitKind.EFFECT: "it waits for word of effect {wait.name!r}: call settle({run!r}, {wait.name!r}, value=…) "
    "if that has happened, or retry=True if it has not",
    WaitKind.SIGNAL: "it waits for a signal: call signal({run!r}, {wait.name!r}, value)",
    WaitKind.TIMER: "it waits for the time, until {wait.due_at:%Y-%m-%d %H:%M:%S} UTC",
    WaitKind.CHILD: "it waits for the end of run {wait.name!r}: answer what that one waits for",
}


async def open_waits(
    store: CheckpointStore, *, run_id: str | None = None, below: str | None = None
) -> AsyncIterator[OpenWait]:
    """The open waits of all runs, of one, or of those below one."""
    after: str | None = None
    while True:
        page = await store.waits(run_id=run_id, below=below, after=after, limit=_PAGE)
        for wait in page.items:
            yield wait
        if (after := page.next) is None:
            return


async def ended_by(store: CheckpointStore, run_id: str, place: str) -> str | None:
    """What ends the wait that is open at a place of a run, if no answer does."""
    for found in [wait async for wait in open_waits(store, run_id=run_id)]:
        if found.wait.place == place and found.wait.kind in _ENDED_BY:
            return _ENDED_BY[found.wait.kind].format(run=run_id, wait=found.wait)
    return None


async def no_wait(store: CheckpointStore, wait_id: str, run_id: str, place: str) -> WaitNotFound:
    """The error for an id that is none of a wait, with ids of the same run, of the same place, or alike."""
    page = await store.waits(kind=WaitKind.ANSWER, limit=_PAGE)
    known = {wait_id_of(wait.run_id, wait.wait): wait for wait in page.items}
    run, _, step = wait_id.rpartition("/")
    same = [id_ for id_, wait in known.items() if wait.run_id in (run, wait_id) or id_.endswith(f"/{step}")]
    near = tuple(dict.fromkeys((*same, *get_close_matches(wait_id, known))))[:_NEAR]
    return WaitNotFound(run_id, place, near=near)


async def no_doubt(store: CheckpointStore, run_id: str, key: str, place: str | None) -> EffectNotFound:
    """The error for an effect that is not in doubt, with the wait that may have been meant, if there is one."""
    for found in [wait async for wait in open_waits(store, run_id=run_id)]:
        wait = found.wait
        if wait.kind is WaitKind.ANSWER and (place == wait.place or key in (wait.name, wait.place)):
            why = f"it waits for an answer there: call answer({wait_id_of(run_id, wait)!r}, value)"
            return EffectNotFound(run_id, key, place, why)
        if wait.kind is WaitKind.EFFECT:
            return EffectNotFound(run_id, key, place, f"in doubt is effect {wait.name!r} at {wait.place!r}")
    return EffectNotFound(run_id, key, place)
