"""Waits: opened by a run's owner, ended once by an answer, the time or another run's end; parking loses no wake-up."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from .._records import Closing, Commit, RunStatus
from .._store import CheckpointStore
from .._waiting import NewWait, OpenWait, WaitKind, WaitStatus
from ..errors import AlreadyAnswered, CancelRequested, OwnershipLost, RunNotFound, RunNotOpen, WaitNotFound
from ._words import Check, at_once, claimed, end, equal, refuses, started

_DUE: Final = datetime(2001, 1, 1, tzinfo=UTC)


def a_wait(place: str = "step", kind: WaitKind = WaitKind.ANSWER, *, due_at: datetime | None = None) -> NewWait:
    """A wait that shows something."""
    return NewWait(place, kind, "name", b'"shown"', due_at)


async def check_a_wait_comes_back_as_it_was_opened(store: CheckpointStore) -> None:
    """From the call, from the run, and from the list of what is open."""
    lease = await started(store, "run")
    wait = await store.wait(lease, a_wait(due_at=_DUE))
    equal((wait.place, wait.kind, wait.name, wait.prompt), ("step", WaitKind.ANSWER, "name", b'"shown"'))
    equal((wait.due_at, wait.status, wait.value, wait.ended_at), (_DUE, WaitStatus.OPEN, None, None))
    equal(list((await store.load("run")).waits), [wait])
    equal(list((await store.waits()).items), [OpenWait("run", "conformance", 1, wait)])


async def check_only_the_owner_opens_waits_and_parks(store: CheckpointStore) -> None:
    """Both are fenced like a commit, and refused while the run's end is asked for."""
    old = await started(store, "run")
    lease = await claimed(store, "run")
    for attempt in (store.wait(old, a_wait()), store.park(old, 0)):
        with refuses(OwnershipLost):
            await attempt
    await store.cancel("run")
    for attempt in (store.wait(lease, a_wait()), store.park(lease, 0)):
        with refuses(CancelRequested):
            await attempt
    equal((await store.load("run")).waits, ())


async def check_a_run_that_waits_or_parks_has_got_somewhere(store: CheckpointStore) -> None:
    """Its attempts are counted anew, as by a commit."""
    for run_id in ("waits", "parks"):
        await started(store, run_id)  # by an owner that is none any more
        lease = await claimed(store, run_id)
        equal((await store.info(run_id)).attempts, 1)
        if run_id == "waits":
            await store.wait(lease, a_wait())
        else:
            equal(await store.park(lease, 0), promised=True)
        equal((await store.info(run_id)).attempts, 0)


async def check_a_wait_has_one_answer(store: CheckpointStore) -> None:
    """Of many that answer at once one wins, and all others are told."""
    lease = await started(store, "run")
    await store.wait(lease, a_wait())
    won: list[int] = []

    async def answer(number: int) -> None:
        try:
            await store.answer("run", "step", b"%d" % number, by=str(number))
        except AlreadyAnswered:
            return
        won.append(number)

    await at_once(answer, 10)
    equal(len(won), 1)
    (wait,) = (await store.load("run")).waits
    equal((wait.status, wait.value, wait.by), (WaitStatus.ANSWERED, b"%d" % won[0], str(won[0])))
    equal(wait.ended_at is not None and wait.ended_at >= wait.opened_at, True)
    equal(list((await store.waits()).items), [])


async def check_an_answer_to_what_is_no_longer_asked_does_not_count(store: CheckpointStore) -> None:
    """A step may ask one thing after the other: whoever answers the first twice does not answer the second."""
    lease = await started(store, "run")
    await store.wait(lease, replace(a_wait(), name="first"))
    await store.answer("run", "step", b"1", name="first")
    await store.wait(lease, replace(a_wait(), name="second"))
    with refuses(AlreadyAnswered, "step"):
        await store.answer("run", "step", b"2", name="first")
    equal([wait.status for wait in (await store.load("run")).waits], [WaitStatus.OPEN])
    await store.answer("run", "step", b"2", name="second")


async def check_an_answer_needs_a_wait_for_one(store: CheckpointStore) -> None:
    """Neither a run nor a place that is unknown, nor a wait for something else, nor a run that ends, takes one."""
    lease = await started(store, "run")
    await store.wait(lease, a_wait("timer", WaitKind.TIMER))
    await store.wait(lease, a_wait("step"))
    for place in ("unknown", "timer"):
        with refuses(WaitNotFound, place):
            await store.answer("run", place, b"1")
    with refuses(RunNotFound):
        await store.answer("unknown", "step", b"1")
    await store.cancel("run")
    with refuses(RunNotOpen):
        await store.answer("run", "step", b"1")
    equal([wait.status for wait in (await store.load("run")).waits], [WaitStatus.OPEN] * 2)
    await end_cancelled(store, "run")
    with refuses(RunNotOpen):
        await store.answer("run", "step", b"1")


async def end_cancelled(store: CheckpointStore, run_id: str) -> None:
    """Claim a run whose end is asked for, and end it."""
    lease = await claimed(store, run_id)
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.CANCELLED)))


async def check_a_wait_that_is_opened_again_is_open(store: CheckpointStore) -> None:
    """A step that is tried again waits again; what ended the wait before is forgotten."""
    lease = await started(store, "run")
    await store.wait(lease, a_wait())
    await store.answer("run", "step", b"1", by="me")
    wait = await store.wait(lease, a_wait())
    equal((wait.status, wait.value, wait.by, wait.ended_at), (WaitStatus.OPEN, None, None, None))


async def check_a_parked_run_rests_until_a_wait_ends(store: CheckpointStore) -> None:
    """It is neither running nor ended, takes no commits, and is running again with the answer."""
    lease = await started(store, "run")
    await store.wait(lease, a_wait())
    equal(await store.park(lease, 0), True)
    equal((await store.info("run")).status, RunStatus.WAITING)
    with refuses(RunNotOpen):
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
    await store.answer("run", "step", b"1")
    equal((await store.info("run")).status, RunStatus.RUNNING)


async def check_a_run_is_not_parked_past_news(store: CheckpointStore) -> None:
    """An answer that came before the run was parked is not slept through."""
    lease = await started(store, "run")
    await store.wait(lease, a_wait())
    await store.answer("run", "step", b"1")
    equal(await store.park(lease, 0), False)
    equal((await store.info("run")).status, RunStatus.RUNNING)
    equal(await store.park(lease, 1), True)


async def check_a_claim_wakes_a_parked_run(store: CheckpointStore) -> None:
    """So does asking for its end."""
    for run_id in ("claimed", "cancelled"):
        lease = await started(store, run_id)
        await store.wait(lease, a_wait())
        await store.park(lease, 0)
    await claimed(store, "claimed")
    await store.cancel("cancelled")
    for run_id in ("claimed", "cancelled"):
        equal((await store.info(run_id)).status, RunStatus.RUNNING)


async def check_waits_end_when_they_are_due(store: CheckpointStore) -> None:
    """The longest overdue first, at most as many as asked for; what comes next is told; ended runs are left alone."""
    for days, run_id in enumerate("abcd"):
        lease = await started(store, run_id)
        await store.wait(lease, a_wait(due_at=_DUE + timedelta(days=days)))
        await store.wait(lease, a_wait("no time"))
        await store.park(lease, 0)
    await end(store, "a", RunStatus.COMPLETED)
    equal(await store.expire(_DUE.timestamp()), _DUE + timedelta(days=1))
    late = (_DUE + timedelta(days=2, hours=1)).timestamp()
    equal(await store.expire(late, limit=1), _DUE + timedelta(days=2))
    equal(await store.expire(late), _DUE + timedelta(days=3))
    equal((await store.info("c")).status, RunStatus.RUNNING)
    equal((await store.info("d")).status, RunStatus.WAITING)
    expired = next(wait for wait in (await store.load("c")).waits if wait.place == "step")
    equal((expired.status, expired.ended_at is not None), (WaitStatus.EXPIRED, True))
    with refuses(AlreadyAnswered):
        await store.answer("c", "step", b"1")
    await store.expire((_DUE + timedelta(days=4)).timestamp())
    equal(await store.expire(late), None)


async def check_the_end_of_a_run_ends_the_waits_for_it(store: CheckpointStore) -> None:
    """Of all who wait for it, and of nobody else."""
    for run_id, child in (("a", "child"), ("b", "child"), ("c", "other")):
        lease = await started(store, run_id)
        await store.wait(lease, NewWait("step", WaitKind.CHILD, child))
        await store.park(lease, 0)
    await store.release("child")
    await store.release("child")
    statuses = [(await store.info(run_id)).status for run_id in "abc"]
    equal(statuses, [RunStatus.RUNNING, RunStatus.RUNNING, RunStatus.WAITING])


async def check_open_waits_are_listed_in_order(store: CheckpointStore) -> None:
    """Of all runs, of one, or of one kind; page by page; those of ended runs are not open any more."""
    for run_id in "cab":
        lease = await started(store, run_id)
        await store.wait(lease, a_wait("two"))
        await store.wait(lease, a_wait("one", WaitKind.TIMER))
    await end(store, "b", RunStatus.FAILED)
    found = [f"{wait.run_id}/{wait.wait.place}" for wait in (await store.waits()).items]
    equal(found, ["a/one", "a/two", "c/one", "c/two"])
    equal([wait.run_id for wait in (await store.waits(run_id="c")).items], ["c", "c"])
    equal([wait.wait.place for wait in (await store.waits(kind=WaitKind.TIMER)).items], ["one", "one"])
    first = await store.waits(limit=3)
    equal([f"{wait.run_id}/{wait.wait.place}" for wait in first.items], ["a/one", "a/two", "c/one"])
    rest = await store.waits(after=str(first.next))
    equal(([f"{wait.run_id}/{wait.wait.place}" for wait in rest.items], rest.next), (["c/two"], None))
    equal([wait.wait.place for wait in (await store.waits(run_id="c", after=str(first.next))).items], ["two"])
    equal(list((await store.waits(run_id="a", after=str(first.next))).items), [])


async def check_open_waits_below_a_run_are_those_of_the_runs_that_its_steps_have_started(
    store: CheckpointStore,
) -> None:
    """And of the runs below those: their ids begin with its own and a dot."""
    for run_id in ("a", "a.x", "a.x.y", "a-b", "ab.x", "a.z"):
        await store.wait(await started(store, run_id), a_wait("one"))
    equal([wait.run_id for wait in (await store.waits(below="a")).items], ["a.x.y", "a.x", "a.z"])
    page = await store.waits(below="a", limit=2)
    equal([wait.run_id for wait in (await store.waits(below="a", after=str(page.next))).items], ["a.z"])
    equal([wait.run_id for wait in (await store.waits(below="a.x")).items], ["a.x.y"])
    equal([wait.run_id for wait in (await store.waits(run_id="a")).items], ["a"])
    equal(
        [f"{wait.run_id}/{wait.wait.place}" for wait in (await store.waits(after=str(page.next))).items][:3],
        ["a.z/one", "a/one", "ab.x/one"],
    )


async def check_a_failed_run_that_is_reopened_waits_again(store: CheckpointStore) -> None:
    """What expired is forgotten, so that its step can wait anew; what was answered is kept."""
    lease = await started(store, "run")
    await store.wait(lease, a_wait("expired", due_at=_DUE))
    await store.wait(lease, a_wait("answered"))
    await store.answer("run", "answered", b"1")
    await store.expire(_DUE.timestamp())
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.FAILED, heard=2)))
    await claimed(store, "run", reopen=True)
    equal([wait.place for wait in (await store.load("run")).waits], ["answered"])


CHECKS: Final[tuple[Check, ...]] = (
    check_a_wait_comes_back_as_it_was_opened,
    check_only_the_owner_opens_waits_and_parks,
    check_a_run_that_waits_or_parks_has_got_somewhere,
    check_a_wait_has_one_answer,
    check_an_answer_to_what_is_no_longer_asked_does_not_count,
    check_an_answer_needs_a_wait_for_one,
    check_a_wait_that_is_opened_again_is_open,
    check_a_parked_run_rests_until_a_wait_ends,
    check_a_run_is_not_parked_past_news,
    check_a_claim_wakes_a_parked_run,
    check_waits_end_when_they_are_due,
    check_the_end_of_a_run_ends_the_waits_for_it,
    check_open_waits_are_listed_in_order,
    check_open_waits_below_a_run_are_those_of_the_runs_that_its_steps_have_started,
    check_a_failed_run_that_is_reopened_waits_again,
)
