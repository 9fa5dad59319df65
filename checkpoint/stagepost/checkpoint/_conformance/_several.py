"""Several owners: a run is one's, and what is left by those who leave or die is the others'."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from .._ownership import Freed, Lost, News, Owner
from .._records import Commit
from .._store import CheckpointStore
from ..errors import OwnerExpired, OwnershipLost, RunOwned, StoreInUse
from ._words import CheckOfSeveral, a_frame, begun, equal, new_run, refuses, silent, started, told

Pass: TypeAlias = Callable[[float], None]


async def two(store: CheckpointStore) -> tuple[Owner, Owner]:
    """Two owners, and they are other ones."""
    first, second = await store.join("first"), await store.join("second")
    equal(first.id != second.id and first.ttl is not None, promised=True)
    return first, second


async def outlived(store: CheckpointStore, dead: Owner, living: Owner, let_pass: Pass) -> None:
    """Let an owner's time be up; the other one says that it lives."""
    for _ in range(5):
        let_pass((dead.ttl or 0) / 4)
        equal(await store.heartbeat(living), promised=True)


async def check_as_many_owners_as_it_says(store: CheckpointStore, _: Pass) -> None:
    """One more is refused until somebody leaves."""
    first, _second = await two(store)
    with refuses(StoreInUse):
        await store.join("third")
    await store.leave(first)
    await store.join("third")


async def check_a_run_of_a_living_owner_is_its_own(store: CheckpointStore, _: Pass) -> None:
    """Neither acquired nor claimed by another one, unless by force; then its leases are void, and it is told."""
    first, second = await two(store)
    old, changes = await begun(store, first, "run"), store.changes(first)
    equal((await store.acquire(second)).items, ())
    with refuses(RunOwned):
        await store.claim(second, "run")
    await store.claim(first, "run")
    await store.claim(second, "run", force=True)
    await told(changes, Lost("run"))
    with refuses(OwnershipLost):
        await store.commit(Commit(lease=old, frame=a_frame(2)))
    with refuses(RunOwned):
        await store.claim(first, "run")


async def check_an_owner_that_says_nothing_is_dead(store: CheckpointStore, let_pass: Pass) -> None:
    """For good: its leases are void, its runs are others', with one attempt more, and it comes back as another one."""
    first, second = await two(store)
    lease, changes = await begun(store, first, "run"), store.changes(first)
    await silent(changes)
    others = store.changes(second)
    await outlived(store, first, second, let_pass)
    await told(others, Freed("run", 0))
    equal([change async for change in changes], [Lost("run")])
    equal(await store.heartbeat(first), promised=False)
    with refuses(OwnershipLost):
        await store.commit(Commit(lease=lease, frame=a_frame(2)))
    for attempt in (
        store.acquire(first),
        store.claim(first, "run"),
        store.create(replace(new_run("new"), owner=first.id)),
    ):
        with refuses(OwnerExpired):
            await attempt
    equal([(run.run_id, run.attempts) for run in (await store.acquire(second)).items], [("run", 1)])
    await store.claim(second, "run")
    equal((await store.info("run")).attempts, 1)
    await silent(store.changes(second))
    equal((await store.join("first")).id in (first.id, second.id), promised=False)


async def check_a_run_of_a_dead_owner_can_be_claimed_at_once(store: CheckpointStore, let_pass: Pass) -> None:
    """Which counts as an attempt just as well."""
    first, second = await two(store)
    await begun(store, first, "run")
    await outlived(store, first, second, let_pass)
    await store.claim(second, "run")
    equal((await store.info("run")).attempts, 1)


async def check_each_free_run_is_acquired_by_one(store: CheckpointStore, _: Pass) -> None:
    """In pages, until there are no more."""
    first, second = await two(store)
    for run_id in "cadb":
        await started(store, run_id)  # by an owner that is none any more
    page = await store.acquire(first, limit=3)
    equal("".join(run.run_id for run in page.items), "abc")
    equal("".join(run.run_id for run in (await store.acquire(second)).items), "d")
    equal((await store.acquire(first, after=page.next or "")).items, ())
    with refuses(RunOwned):
        await store.claim(second, "a")


async def check_whoever_leaves_lets_the_others_hear(store: CheckpointStore, _: Pass) -> None:
    """Its runs are free at once, and without an attempt."""
    first, second = await two(store)
    await begun(store, first, "run")
    changes = store.changes(second)
    await silent(changes)
    await store.leave(first)
    await told(changes, Freed("run", 0))
    await store.claim(second, "run")
    equal((await store.info("run")).attempts, 0)


async def check_news_are_told_to_the_owner_and_free_runs_to_all(store: CheckpointStore, _: Pass) -> None:
    """Until somebody claims them: that one owner has heard of a free run keeps nobody else from it."""
    first, second = await two(store)
    lease = await begun(store, first, "run", "a", "b")
    await store.answer("run", "a", b"1")
    await told(store.changes(first), News("run", 1))
    await silent(store.changes(second))
    equal(await store.park(lease, 1), promised=True)
    await store.answer("run", "b", b"1")
    for owner in (first, second):
        await told(store.changes(owner), Freed("run", 2))
        await store.heard(owner, {"run": 2})
    await store.claim(first, "run")
    await silent(store.changes(second))


CHECKS: Final[tuple[CheckOfSeveral, ...]] = (
    check_as_many_owners_as_it_says,
    check_a_run_of_a_living_owner_is_its_own,
    check_an_owner_that_says_nothing_is_dead,
    check_a_run_of_a_dead_owner_can_be_claimed_at_once,
    check_each_free_run_is_acquired_by_one,
    check_whoever_leaves_lets_the_others_hear,
    check_news_are_told_to_the_owner_and_free_runs_to_all,
)
