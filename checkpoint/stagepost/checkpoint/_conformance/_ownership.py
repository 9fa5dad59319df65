"""Owners: they get runs that nobody has, and hear of whatever is written for theirs until they say so."""

from typing import Final

from .._ownership import Cancelled, Freed, News
from .._records import Closing, Commit, RunStatus
from .._store import CheckpointStore
from .._waiting import Effect, EffectStatus, NewWait, WaitKind, WaitStatus
from ..errors import CancelRequested, NewsFirst, OwnerExpired, RunNotOpen, StaleCheckpoint
from ._words import Check, a_frame, begun, equal, new_run, refuses, silent, started, told


def ask(place: str = "step", kind: WaitKind = WaitKind.ANSWER) -> NewWait:
    """A wait."""
    return NewWait(place, kind, "name")


async def check_what_is_written_is_told_until_it_is_heard(store: CheckpointStore) -> None:
    """To whoever listens, and to whoever listens later; plain commits are told to nobody."""
    me = await store.join("me")
    lease = await begun(store, me, "run", "a", "b")
    await begun(store, me, "other")
    await store.signal("other", "signal", b"1")
    changes = store.changes(me)
    await store.answer("run", "a", b"1")
    await told(changes, News("run", 1))
    await told(store.changes(me), News("run", 1))
    await store.signal("run", "signal", b"1")
    await store.heard(me, {"run": 1, "other": 1})
    changes = store.changes(me)
    await told(changes, News("run", 2))
    await store.heard(me, {"run": 7})
    equal((await store.info("run")).news, 2)
    changes = store.changes(me)
    await store.commit(Commit(lease=lease, frame=a_frame(2)))
    await silent(changes)
    await store.answer("run", "b", b"1")
    await told(changes, News("run", 3))


async def check_news_are_read_from_a_number_on(store: CheckpointStore) -> None:
    """The waits that have ended since, in their order, and how much there is now."""
    me = await store.join("me")
    lease = await begun(store, me, "run", "a", "b", "c")
    equal(await store.news("run", 0), ([], 0))
    await store.answer("run", "b", b"1")
    await store.signal("run", "signal", b"1")
    await store.answer("run", "a", b"2")
    waits, news = await store.news("run", 0)
    equal(([wait.place for wait in waits], news), (["b", "a"], 3))
    waits, news = await store.news("run", 1)
    equal(([(wait.place, wait.status, wait.value) for wait in waits], news), ([("a", WaitStatus.ANSWERED, b"2")], 3))
    equal(await store.news("run", 3), ([], 3))
    await store.wait(lease, ask("a"))
    equal([wait.place for wait in (await store.news("run", 0)).waits], ["b"])


async def check_a_parked_run_is_nobodys_and_freed_by_what_it_waits_for(store: CheckpointStore) -> None:
    """Signals that it does not wait for leave it alone, but count; a claim has heard all."""
    me = await store.join("me")
    changes = store.changes(me)
    lease = await begun(store, me, "run", "step")
    equal(await store.park(lease, 0), promised=True)
    equal((await store.info("run")).owner, None)
    await store.signal("run", "signal", b"1")
    await silent(changes)
    equal((await store.info("run")).news, 1)
    await store.answer("run", "step", b"1")
    await told(changes, Freed("run", 2))
    lease = await store.claim(me, "run")
    equal(((await store.info("run")).owner, (await store.info("run")).attempts, lease.news), (me.id, 0, 2))
    await silent(store.changes(me))
    equal(await store.park(lease, 1), promised=False)
    equal(await store.park(lease, 2), promised=True)


async def check_a_run_does_not_end_before_its_news_are_heard(store: CheckpointStore) -> None:
    """Unless it is cancelled."""
    me = await store.join("me")
    for run_id in ("run", "cancelled"):
        lease = await begun(store, me, run_id)
        await store.signal(run_id, "signal", b"1")
        with refuses(NewsFirst):
            await store.commit(Commit(lease=lease, frame=a_frame(2), closing=Closing(RunStatus.COMPLETED)))
        equal((await store.load(run_id)).root.seq, 1)
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.CANCELLED)))
    lease = await store.claim(me, "run")
    await store.commit(Commit(lease=lease, frame=a_frame(2), closing=Closing(RunStatus.COMPLETED, heard=1)))


async def check_a_cancellation_is_told_and_takes_all_below_along(store: CheckpointStore) -> None:
    """Runs below that are open, and those that would be created there; nothing beside it."""
    me = await store.join("me")
    changes = store.changes(me)
    for run_id in ("a", "a.x.y", "a-b", "ab"):
        await begun(store, me, run_id)
    await store.park(await begun(store, me, "a.x", "step"), 0)
    ended = await begun(store, me, "a.ended")
    await store.commit(Commit(lease=ended, closing=Closing(RunStatus.COMPLETED)))
    await store.cancel("a")
    found = {change.run_id: change for change in [await anext(changes) for _ in range(3)]}
    equal(found, {"a": Cancelled("a", 1), "a.x": Cancelled("a.x", 1), "a.x.y": Cancelled("a.x.y", 1)})
    for run_id in ("a-b", "ab", "a.ended"):
        equal((await store.info(run_id)).cancelling, promised=False)
    for run_id in ("a.new", "a.x.new", "a.unknown.new"):
        with refuses(CancelRequested, run_id):
            await store.create(new_run(run_id))
    equal((await store.create(new_run("a.x")))[1].run_id, "a.x")
    await started(store, "a-b.new")
    with refuses(RunNotOpen):
        await store.cancel("a.ended")


async def check_what_is_due_is_told(store: CheckpointStore) -> None:
    """Also the end of a run that another one waits for."""
    me = await store.join("me")
    changes = store.changes(me)
    lease = await begun(store, me, "run")
    await store.wait(lease, ask("child", WaitKind.CHILD))
    await store.release("name")
    await told(changes, News("run", 1))


async def check_free_runs_are_acquired_page_by_page(store: CheckpointStore) -> None:
    """Those that run and that no living owner has: neither its own, nor what rests or has ended."""
    me = await store.join("me")
    await begun(store, me, "mine")
    await store.park(await begun(store, me, "parked", "step"), 0)
    for run_id in "dbac":
        await started(store, run_id)  # by an owner that is none any more
    first = await store.acquire(me, limit=3)
    rest = await store.acquire(me, after=first.next or "", limit=3)
    equal((len(first.items), len(rest.items), rest.next), (3, 1, None))
    equal("".join(sorted(run.run_id for run in (*first.items, *rest.items))), "abcd")


async def check_an_owner_that_leaves_frees_its_runs(store: CheckpointStore) -> None:
    """Without counting an attempt; it can do nothing more, and is told nothing more."""
    first = await store.join("first")
    await begun(store, first, "run")
    changes = store.changes(first)
    await store.leave(first)
    equal([change async for change in changes], [])
    equal(await store.heartbeat(first), promised=False)
    with refuses(OwnerExpired):
        await store.claim(first, "run")
    second = await store.join("second")
    equal([run.run_id for run in (await store.acquire(second)).items], ["run"])
    await store.claim(second, "run")
    equal((await store.info("run")).attempts, 0)


async def check_a_blocked_run_says_why_until_it_is_claimed(store: CheckpointStore) -> None:
    """Of itself, and of its open waits."""
    me = await store.join("me")
    await begun(store, me, "run", "step")
    await store.block(me, "run", "no such step")
    equal((await store.info("run")).blocked, "no such step")
    equal([wait.blocked for wait in (await store.waits()).items], ["no such step"])
    await store.claim(me, "run")
    equal([wait.blocked for wait in (await store.waits()).items], [None])
    await store.block(me, "run", "again")
    await store.block(me, "run", None)
    equal((await store.info("run")).blocked, None)


async def check_an_answer_that_does_not_fit_is_dropped(store: CheckpointStore) -> None:
    """The wait is open again and says why; the next signal of a queue takes its place, an effect is in doubt again."""
    me = await store.join("me")
    lease = await begun(store, me, "run", "step")
    with refuses(StaleCheckpoint):
        await store.reopen(lease, "step", "not answered")
    await store.answer("run", "step", b"1", by="them", checked=False)
    equal([wait.checked for wait in (await store.news("run", 0)).waits], [False])
    wait = await store.reopen(lease, "step", "no number")
    equal((wait.status, wait.value, wait.by, wait.checked), (WaitStatus.OPEN, None, None, True))
    equal([wait.wait.refused for wait in (await store.waits()).items], ["no number"])
    await store.answer("run", "step", b"2")
    (wait,) = (await store.news("run", 1)).waits
    equal((wait.value, wait.checked, wait.refused), (b"2", True, None))
    await store.wait(lease, ask("signal", WaitKind.SIGNAL))
    for value in (b"1", b"2"):
        await store.signal("run", "name", value, checked=value == b"1")
    wait = await store.reopen(lease, "signal", "no number")
    equal((wait.value, wait.checked), (b"2", False))
    await store.wait(lease, ask("doubt", WaitKind.EFFECT))
    await store.commit(Commit(lease=lease, effects=[Effect("doubt", "name", EffectStatus.INTENT)]))
    for said in (b"1", None):
        await store.settle("run", "doubt", "name", said, checked=False)
        equal((await store.reopen(lease, "doubt", "no number")).status, WaitStatus.OPEN)
        equal((await store.load("run")).effects, (Effect("doubt", "name", EffectStatus.INTENT),))
    equal([signal.checked for signal in (await store.signals("run")).items], [True, False])


CHECKS: Final[tuple[Check, ...]] = (
    check_what_is_written_is_told_until_it_is_heard,
    check_news_are_read_from_a_number_on,
    check_a_parked_run_is_nobodys_and_freed_by_what_it_waits_for,
    check_a_run_does_not_end_before_its_news_are_heard,
    check_a_cancellation_is_told_and_takes_all_below_along,
    check_what_is_due_is_told,
    check_free_runs_are_acquired_page_by_page,
    check_an_owner_that_leaves_frees_its_runs,
    check_a_blocked_run_says_why_until_it_is_claimed,
    check_an_answer_that_does_not_fit_is_dropped,
)
