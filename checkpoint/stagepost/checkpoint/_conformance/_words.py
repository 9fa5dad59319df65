"""What the checks are written with: small records, and the ways to say that a promise is broken."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeAlias, Unpack

import anyio

from .._codec import PLAIN
from .._filters import RunFilters
from .._inbox import Inbox
from .._ownership import Change, Owner
from .._records import Closing, Commit, Frame, Item, ItemStatus, Joined, Lease, NewRun, RunStatus, Shape
from .._store import CheckpointStore
from .._waiting import NewWait, WaitKind
from ..errors import CheckpointError

Check: TypeAlias = Callable[[CheckpointStore], Awaitable[None]]
CheckOfSeveral: TypeAlias = Callable[[CheckpointStore, Callable[[float], None]], Awaitable[None]]
CheckBeside: TypeAlias = Callable[[CheckpointStore, Inbox], Awaitable[None]]


_SOON: Final = 0.05  # seconds in which a store would have told what is not to be told


def new_run(run_id: str, *, workflow: str = "conformance", key: str | None = None) -> NewRun:
    """A run of one frame."""
    return NewRun(run_id, workflow, 1, key, b"{}", 0, a_frame(1))


def json_of(values: Mapping[str, object]) -> dict[str, bytes]:
    """The stored form of each value."""
    return {key: PLAIN.dump(value, key) for key, value in values.items()}


def a_frame(seq: int, path: str = "", **state: object) -> Frame:
    """One version of a branch with this state."""
    return Frame(path, seq, "next", json_of(state))


def an_item(path: str, idx: int) -> Item:
    """A waiting item of the first visit."""
    return Item(path, 0, idx, ItemStatus.WAITING, b"%d" % idx)


async def started(store: CheckpointStore, run_id: str, *, workflow: str = "conformance") -> Lease:
    """The lease of a run at version 1."""
    lease, _ = await store.create(new_run(run_id, workflow=workflow))
    return lease_of(lease)


async def started_fan(store: CheckpointStore, run_id: str) -> Lease:
    """A run at version 2 with two waiting items, of which one has a frame."""
    lease = await started(store, run_id)
    await store.commit(Commit(lease=lease, frame=a_frame(2), frozen=[an_item("fan", 0), an_item("fan", 1)]))
    await store.commit(Commit(lease=lease, frame=a_frame(1, "fan[1]")))
    return lease


def one_of_each(lease: Lease) -> list[Commit]:
    """Commits that `started_fan`'s run would take, each with a single part."""
    return [
        Commit(lease=lease, frame=a_frame(3)),
        Commit(lease=lease, frame=a_frame(1, "fan[0]")),
        Commit(lease=lease, frozen=[an_item("new", 0)]),
        Commit(lease=lease, outcomes=[an_item("fan", 0)._replace(status=ItemStatus.OK, value=b"1")]),
        Commit(lease=lease, ended="fan[1]"),
        Commit(lease=lease, joined=Joined("fan", 0)),
        Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)),
    ]


async def end(store: CheckpointStore, run_id: str, status: RunStatus) -> None:
    """Claim a run, hear all that it was sent, and end it."""
    lease = await claimed(store, run_id)
    news = (await store.info(run_id)).news
    await store.commit(Commit(lease=lease, closing=Closing(status, heard=news)))


async def claimed(store: CheckpointStore, run_id: str, *, reopen: bool = False, shape: Shape | None = None) -> Lease:
    """The lease of somebody who joins for a claim, and leaves."""
    owner = await store.join("somebody")
    try:
        return await store.claim(owner, run_id, reopen=reopen, shape=shape)
    finally:
        await store.leave(owner)


async def begun(store: CheckpointStore, owner: Owner, run_id: str, *places: str) -> Lease:
    """The lease of an owner's run that waits for answers at these places."""
    lease = lease_of((await store.create(replace(new_run(run_id), owner=owner.id)))[0])
    for place in places:
        await store.wait(lease, NewWait(place, WaitKind.ANSWER, "name"))
    return lease


async def told(changes: AsyncIterator[Change], wanted: Change) -> None:
    """A change is told; what was told of before it may be told again meanwhile."""
    async for change in changes:
        if change == wanted:
            return
    raise AssertionError(f"broken promise: {wanted!r} is told")


async def silent(changes: AsyncIterator[Change]) -> None:
    """Nothing is told."""
    with anyio.move_on_after(_SOON):
        raise AssertionError(f"broken promise: {await anext(changes)!r} is told, and there is nothing to tell")


async def found_ids(store: CheckpointStore, **filters: Unpack[RunFilters]) -> str:
    """The ids that `find` gives, in alphabetical order."""
    page = await store.find(**filters)
    return "".join(sorted(run.run_id for run in page.items))


async def at_once(work: Callable[[int], Coroutine[None, None, None]], times: int) -> None:
    """Run `work(0)` to `work(times - 1)` concurrently."""
    async with anyio.create_task_group() as tasks:
        for number in range(times):
            tasks.start_soon(work, number)


def lease_of(lease: Lease | None) -> Lease:
    """The lease that a new run comes with."""
    if lease is None:
        raise AssertionError("broken promise: a new run comes with a lease")
    return lease


def equal(found: object, promised: object) -> None:
    """What was found is what was promised."""
    if found != promised:
        raise AssertionError(f"broken promise: {found!r} should be {promised!r}")


@contextmanager
def refuses(error: type[CheckpointError], what: object = "it") -> Iterator[None]:
    """What is done inside ends with this error."""
    try:
        yield
    except error:
        return
    raise AssertionError(f"broken promise: {what} is refused with {error.__name__}")


@contextmanager
def refuses_value(what: str) -> Iterator[None]:
    """What is done inside ends with `ValueError`."""
    try:
        yield
    except ValueError:
        return
    raise AssertionError(f"broken promise: {what} is refused with ValueError")
