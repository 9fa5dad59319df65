"""Others who write for runs, beside the owner: what they are told was done is stored, and the owner hears of it."""

from collections.abc import Awaitable, Callable
from typing import Final

from .._inbox import Inbox
from .._ownership import Cancelled, Freed, News
from .._records import Closing, Commit, RunStatus
from .._store import CheckpointStore
from .._waiting import Effect, EffectStatus, NewWait, WaitKind
from ..errors import AlreadyAnswered, CancelRequested, NewsFirst, RunNotFound, RunNotOpen, WaitNotFound
from ._words import CheckBeside, a_frame, begun, equal, new_run, refuses, silent, told


async def check_the_owner_hears_of_whatever_others_write(store: CheckpointStore, inbox: Inbox) -> None:
    """Answers, signals, words about effects, ends of runs that it waits for, times that are due, cancellations."""
    me = await store.join("me")
    changes = store.changes(me)
    lease = await begun(store, me, "run", "answer")
    await store.wait(lease, NewWait("doubt", WaitKind.EFFECT, "key"))
    await store.wait(lease, NewWait("child", WaitKind.CHILD, "other"))
    await store.commit(Commit(lease=lease, effects=[Effect("doubt", "key", EffectStatus.INTENT)]))
    await silent(changes)
    words: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: inbox.answer("run", "answer", b"1", by="them"),
        lambda: inbox.signal("run", "news", b"2"),
        lambda: inbox.settle("run", "doubt", "key", b"3"),
        lambda: inbox.release("other"),
    )
    for number, write in enumerate(words, 1):
        await write()
        await told(changes, News("run", number))
        await store.heard(me, {"run": number})
    await inbox.cancel("run")
    await told(changes, Cancelled("run", 5))
    waits, news = await store.news("run", 0)
    equal([(wait.place, wait.value) for wait in waits], [("answer", b"1"), ("doubt", b"3"), ("child", b"null")])
    equal(news, 5)


async def check_of_owner_and_others_the_first_answer_counts(store: CheckpointStore, inbox: Inbox) -> None:
    """Whoever comes later is told, also the owner's process."""
    me = await store.join("me")
    await begun(store, me, "run", "a", "b")
    await inbox.answer("run", "a", b"1")
    await store.answer("run", "b", b"2")
    with refuses(AlreadyAnswered):
        await store.answer("run", "a", b"3")
    with refuses(AlreadyAnswered):
        await inbox.answer("run", "b", b"4")
    equal([wait.value for wait in (await store.load("run")).waits], [b"1", b"2"])


async def check_others_are_refused_as_the_owner_would_be(store: CheckpointStore, inbox: Inbox) -> None:
    """What is unknown or has ended takes nothing."""
    me = await store.join("me")
    lease = await begun(store, me, "run")
    with refuses(WaitNotFound):
        await inbox.answer("run", "a", b"1")
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
    for run_id, error in (("run", RunNotOpen), ("unknown", RunNotFound)):
        for attempt in (
            inbox.answer(run_id, "a", b"1"),
            inbox.signal(run_id, "news", b"1"),
            inbox.settle(run_id, "a", "key", None),
            inbox.cancel(run_id),
        ):
            with refuses(error):
                await attempt


async def check_nothing_that_others_write_is_slept_or_ended_through(store: CheckpointStore, inbox: Inbox) -> None:
    """A run neither parks nor ends before its owner has heard of it, and a parked one is freed."""
    me = await store.join("me")
    lease = await begun(store, me, "run", "a", "b")
    await inbox.answer("run", "a", b"1")
    equal(await store.park(lease, 0), promised=False)
    with refuses(NewsFirst):
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
    equal(await store.park(lease, 1), promised=True)
    changes = store.changes(me)
    await inbox.answer("run", "b", b"1")
    await told(changes, Freed("run", 2))


async def check_a_cancellation_by_others_takes_all_below_along(store: CheckpointStore, inbox: Inbox) -> None:
    """And refuses what the owner would commit or begin there."""
    me = await store.join("me")
    for run_id in ("run", "run.below"):
        lease = await begun(store, me, run_id)
    await inbox.cancel("run")
    with refuses(CancelRequested):
        await store.commit(Commit(lease=lease, frame=a_frame(2)))
    with refuses(CancelRequested):
        await store.create(new_run("run.new"))


async def check_what_is_due_is_due_for_others_too(store: CheckpointStore, inbox: Inbox) -> None:
    """And told to the owner."""
    me = await store.join("me")
    lease = await begun(store, me, "run")
    wait = await store.wait(
        lease, NewWait("timer", WaitKind.TIMER, "timer", due_at=(await store.info("run")).created_at)
    )
    equal(await inbox.expire(wait.opened_at.timestamp() + 1), None)
    await told(store.changes(me), News("run", 1))


CHECKS: Final[tuple[CheckBeside, ...]] = (
    check_the_owner_hears_of_whatever_others_write,
    check_of_owner_and_others_the_first_answer_counts,
    check_others_are_refused_as_the_owner_would_be,
    check_nothing_that_others_write_is_slept_or_ended_through,
    check_a_cancellation_by_others_takes_all_below_along,
    check_what_is_due_is_due_for_others_too,
)
