"""Runs: created once, found again, served by one runner."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import anyio

from .._records import Lease, RunStatus
from .._store import CheckpointStore
from ..errors import RunNotFound, StoreInUse
from ._words import Check, a_frame, at_once, claimed, end, equal, found_ids, lease_of, new_run, refuses, started


async def check_a_new_run_is_stored_with_its_first_frame(store: CheckpointStore) -> None:
    """What `create` returns is what `load` and `find` give back."""
    new = replace(new_run("first", key="order-1"), version=3, owner=7, input=b'{"folder":"inbox"}')
    lease, info = await store.create(new)
    equal(lease_of(lease).epoch, 1)
    equal(
        (info.run_id, info.workflow, info.version, info.key, info.input, info.owner, info.epoch),
        (new.run_id, new.workflow, new.version, new.key, new.input, new.owner, 1),
    )
    equal((info.status, info.error, info.finished_at), (RunStatus.RUNNING, None, None))
    snapshot = await store.load("first")
    equal((snapshot.run, snapshot.root, list(snapshot.items)), (info, new.root, []))
    equal(list((await store.find()).items), [info])


async def check_a_run_is_created_once_by_id(store: CheckpointStore) -> None:
    """A second `create` gives no lease, the first run, and changes nothing."""
    await started(store, "once")
    before = await store.load("once")
    lease, info = await store.create(
        replace(new_run("once"), workflow="other", input=b'"other"', root=a_frame(1, x="y"))
    )
    equal((lease, info), (None, before.run))
    equal(await store.load("once"), before)


async def check_a_run_is_created_once_by_workflow_and_key(store: CheckpointStore) -> None:
    """A key is taken per workflow; runs without a key never clash."""
    _, first = await store.create(new_run("a", key="order-1"))
    lease, info = await store.create(new_run("b", key="order-1"))
    equal((lease, info), (None, first))
    with refuses(RunNotFound):
        await store.load("b")
    for other in (
        replace(new_run("c", key="order-1"), workflow="other"),
        new_run("d", key="order-2"),
        new_run("e"),
        new_run("f"),
    ):
        lease_of((await store.create(other))[0])


async def check_concurrent_creates_have_one_winner(store: CheckpointStore) -> None:
    """Of many callers with one id, one gets the lease."""
    leases: list[Lease | None] = []

    async def create(number: int) -> None:
        lease, _ = await store.create(replace(new_run("race"), owner=number))
        leases.append(lease)

    await at_once(create, 10)
    equal(sum(lease is not None for lease in leases), 1)


async def check_unknown_runs_are_not_found(store: CheckpointStore) -> None:
    """Loading or claiming what was never created is `RunNotFound`."""
    with refuses(RunNotFound):
        await store.load("nobody")
    for reopen in (False, True):
        with refuses(RunNotFound):
            await claimed(store, "nobody", reopen=reopen)


async def check_find_filters_by_status_and_workflow(store: CheckpointStore) -> None:
    """Filters narrow the answer, alone and together."""
    for run_id, workflow in (("a", "one"), ("b", "one"), ("c", "two")):
        await started(store, run_id, workflow=workflow)
    await end(store, "b", RunStatus.COMPLETED)
    equal(await found_ids(store), "abc")
    equal(await found_ids(store, status=RunStatus.RUNNING), "ac")
    equal(await found_ids(store, workflow="one"), "ab")
    equal(await found_ids(store, status=RunStatus.COMPLETED, workflow="one"), "b")
    equal(await found_ids(store, status=RunStatus.FAILED), "")
    equal(await found_ids(store, workflow="' OR 1 = 1 --"), "")


async def check_find_pages_in_the_order_of_starts(store: CheckpointStore) -> None:
    """Pages follow each other without gap or overlap in both directions, whatever becomes of the runs meanwhile."""
    for run_id in "dbeac":
        await started(store, run_id)
    for newest_first in (False, True):
        pages = [await store.find(newest_first=newest_first, limit=2)]
        while pages[-1].next is not None:
            pages.append(await store.find(newest_first=newest_first, after=pages[-1].next, limit=2))
        equal([len(page.items) for page in pages], [2, 2, 1])
        times = [run.created_at for page in pages for run in page.items]
        equal(times, sorted(times, reverse=newest_first))
        equal("".join(sorted(run.run_id for page in pages for run in page.items)), "abcde")
    first = await store.find(status=RunStatus.RUNNING, limit=3)
    *_, last = [run.run_id for run in first.items]
    await end(store, last, RunStatus.COMPLETED)
    rest = (await store.find(status=RunStatus.RUNNING, after=str(first.next))).items
    equal(len({run.run_id for run in (*first.items, *rest)}), 5)


async def check_find_finds_keys_and_times(store: CheckpointStore) -> None:
    """A key may be that of one run in each workflow."""
    for run_id, workflow, key in (("a", "one", "k"), ("b", "two", "k"), ("c", "one", "l"), ("d", "one", None)):
        await store.create(replace(new_run(run_id, key=key), workflow=workflow))
    equal(await found_ids(store, key="k"), "ab")
    equal(await found_ids(store, key="k", workflow="two"), "b")
    equal(await found_ids(store, key="k", status=RunStatus.FAILED), "")
    times = {run.run_id: run.created_at for run in (await store.find()).items}
    first = min(times.values())
    equal(await found_ids(store, until=first), "")
    equal(await found_ids(store, since=first, workflow="one"), "acd")
    equal(await found_ids(store, since=max(times.values()) + timedelta(seconds=1)), "")


async def check_find_finds_the_runs_below_one(store: CheckpointStore) -> None:
    """In the order of their ids, in both directions, with all other filters; itself is none of them."""
    for run_id in ("a", "a.c", "a.b", "a.b.d", "a-e", "b", "b.a", "aa.b"):
        await started(store, run_id)
    await end(store, "a.c", RunStatus.FAILED)
    for newest_first in (False, True):
        page = await store.find(below="a", newest_first=newest_first, limit=2)
        rest = await store.find(below="a", newest_first=newest_first, after=page.next, limit=2)
        ids = [run.run_id for run in (*page.items, *rest.items)]
        equal((ids, rest.next), (sorted(["a.b", "a.b.d", "a.c"], reverse=newest_first), None))
    times = [run.created_at for run in (await store.find()).items]
    for options, expected in (
        ({"status": RunStatus.FAILED}, ["a.c"]),
        ({"status": []}, []),
        ({"workflow": "other"}, []),
        ({"key": "k"}, []),
        ({"until": min(times)}, []),
        ({"since": min(times)}, ["a.b", "a.b.d", "a.c"]),
    ):
        equal([run.run_id for run in (await store.find(below="a", **options)).items], expected)


async def check_one_runner_at_a_time(store: CheckpointStore) -> None:
    """A second runner is refused while the first one holds the store, and admitted behind it."""
    for first, second in (("a", "b"), ("b", "c")):
        owner = await store.join(first)
        equal((owner.name, await store.heartbeat(owner)), (first, True))
        with refuses(StoreInUse):
            await store.join(second)
        await store.leave(owner)
        equal(await store.heartbeat(owner), promised=False)


async def check_a_probe_leaves_everything_as_it_is(store: CheckpointStore) -> None:
    """It writes, and nobody owns or loses anything by that."""
    owner = await store.join("a")
    await store.probe()
    equal(await store.heartbeat(owner), promised=True)
    await store.leave(owner)


async def check_a_store_that_works_tells_of_no_failure(store: CheckpointStore) -> None:
    """Whoever waits for one waits on, also behind a refusal."""
    with refuses(RunNotFound):
        await claimed(store, "nobody")
    with anyio.move_on_after(0) as limit:
        await store.failure()
    equal(limit.cancelled_caught, promised=True)


CHECKS: Final[tuple[Check, ...]] = (
    check_a_new_run_is_stored_with_its_first_frame,
    check_a_run_is_created_once_by_id,
    check_a_run_is_created_once_by_workflow_and_key,
    check_concurrent_creates_have_one_winner,
    check_unknown_runs_are_not_found,
    check_find_filters_by_status_and_workflow,
    check_find_pages_in_the_order_of_starts,
    check_find_finds_the_runs_below_one,
    check_find_finds_keys_and_times,
    check_one_runner_at_a_time,
    check_a_probe_leaves_everything_as_it_is,
    check_a_store_that_works_tells_of_no_failure,
)
