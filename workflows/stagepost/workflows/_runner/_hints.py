"""Reading what is open, and what may have been meant by whoever gives something that is refused."""

from collections.abc import AsyncIterator
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Final

from pydantic import BaseModel

from stagepost.checkpoint import (
    PLAIN,
    Catalogue,
    Codec,
    EffectNotFound,
    OpenWait,
    WaitKind,
    WaitNotFound,
    codec_for,
)

from .._ids import wait_id_of
from .._steps._receives import Receives
from ._run import Run

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
    store: Catalogue, *, run_id: str | None = None, below: str | None = None, kind: WaitKind | None = None
) -> AsyncIterator[OpenWait]:
    """The open waits of all runs, of one, or of those below one."""
    after: str | None = ""
    while after is not None:
        page = await store.waits(run_id=run_id, below=below, kind=kind, after=after, limit=_PAGE)
        for wait in page.items:
            yield wait
        after = page.next


async def ended_by(store: Catalogue, run_id: str, place: str) -> str | None:
    """What ends the wait that is open at a place of a run, if no answer does."""
    for found in [wait async for wait in open_waits(store, run_id=run_id)]:
        if found.wait.place == place and found.wait.kind in _ENDED_BY:
            return _ENDED_BY[found.wait.kind].format(run=run_id, wait=found.wait)
    return None


async def codec_at(
    store: Catalogue, receives: Receives, run_id: str, place: str, name: str | None
) -> Codec[Any] | None:
    """The codec of an answer, for a step whose answers depend on what it asks.

    None if nothing is asked at the place: the store refuses the answer then.
    """
    for wait in [found.wait async for found in open_waits(store, run_id=run_id)]:
        if wait.place == place and name in (None, wait.name):
            return receives.codec_of(wait.name, wait.prompt)
    return None


async def no_wait(store: Catalogue, wait_id: str, run_id: str, place: str) -> WaitNotFound:
    """The error for an id that is none of a wait, with ids of the same run, of the same place, or alike."""
    page = await store.waits(kind=WaitKind.ANSWER, limit=_PAGE)
    known = {wait_id_of(wait.run_id, wait.wait): wait for wait in page.items}
    run, _, step = wait_id.rpartition("/")
    same = [id_ for id_, wait in known.items() if wait.run_id in (run, wait_id) or id_.endswith(f"/{step}")]
    near = tuple(dict.fromkeys((*same, *get_close_matches(wait_id, known))))[:_NEAR]
    return WaitNotFound(run_id, place, near=near)


async def no_doubt(store: Catalogue, run_id: str, key: str, place: str | None) -> EffectNotFound:
    """The error for an effect that is not in doubt, with the wait that may have been meant, if there is one."""
    for found in [wait async for wait in open_waits(store, run_id=run_id)]:
        wait = found.wait
        if wait.kind is WaitKind.ANSWER and (place == wait.place or key in (wait.name, wait.place)):
            why = f"it waits for an answer there: call answer({wait_id_of(run_id, wait)!r}, value)"
            return EffectNotFound(run_id, key, place, why)
        if wait.kind is WaitKind.EFFECT:
            return EffectNotFound(run_id, key, place, f"in doubt is effect {wait.name!r} at {wait.place!r}")
    return EffectNotFound(run_id, key, place)


def check_means(store: object, **times: object) -> None:
    """See that a runner can work with its store, and that times to keep something are some.

    Raises:
        TypeError: It cannot, or is none.
    """
    if not callable(getattr(store, "acquire", None)) or isinstance(store, type):
        raise TypeError(f"Runner(store): {store!r:.80} is no store: give SqliteStore(path) or MemoryStore(), opened")
    for name, time in times.items():
        if time is not None and not isinstance(time, timedelta):
            raise TypeError(f"{name}={time!r}: give timedelta(days=…), or None for ever")


def check_id(given: str, what: str = "a run") -> str:
    """See that something is an id, and not the thing that has it.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(given, str):
        has_it = hasattr(given, "id") and isinstance(given, Run) is (what == "a run")
        hint = f"give its .id, {given.id!r}" if has_it else "give a text"
        raise TypeError(f"the id of {what} is wanted, and not a {type(given).__name__}: {hint}")
    return given


def stored(value: object, where: str) -> bytes:
    """The stored form of a value whose type nobody has declared: a model's own, or plain JSON."""
    if isinstance(value, BaseModel):
        return codec_for(type(value)).dump(value, where)
    return PLAIN.dump(value, where)
