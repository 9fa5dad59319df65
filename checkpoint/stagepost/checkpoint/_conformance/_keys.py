"""Keys and ids that stay taken when retention has deleted their runs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import anyio

from .._records import Closing, Commit, Keep, NewRun, RunStatus
from .._store import CheckpointStore
from ..errors import KeyRemembered, RunNotFound
from ._words import Check, end, equal, lease_of, new_run, refuses

_FAR: Final = datetime(3000, 1, 1, tzinfo=UTC)


def _remembered(run_id: str, key: str | None = None) -> NewRun:
    return replace(new_run(run_id, key=key), remember_id=True, remember_key=True)


async def _known(store: CheckpointStore, run: NewRun) -> KeyRemembered:
    try:
        await store.create(run)
    except KeyRemembered as error:
        return error
    raise AssertionError("broken promise: a run that was forgotten is not started again")


async def _is_free(store: CheckpointStore, run: NewRun) -> None:
    lease, _ = await store.create(run)
    await store.commit(Commit(lease=lease_of(lease), closing=Closing(RunStatus.COMPLETED)))
    await store.delete(run.run_id)


async def check_a_key_stays_taken_when_its_run_is_pruned(store: CheckpointStore) -> None:
    """It is known how and when the run ended, and whether it began with the same."""
    for run_id, status in (("a", RunStatus.COMPLETED), ("b", RunStatus.FAILED)):
        await store.create(_remembered(run_id, f"key-{run_id}"))
        await end(store, run_id, status)
        ended = (await store.info(run_id)).finished_at
        equal(await store.prune(_FAR), 1)
        for again in (_remembered(run_id), _remembered("another", f"key-{run_id}"), new_run(run_id)):
            known = await _known(store, again)
            equal((known.run_id, known.status, known.ended_at, known.is_same), (run_id, status, ended, True))
        equal((await _known(store, replace(_remembered(run_id), input=b"1"))).is_same, False)
        equal((await _known(store, replace(_remembered(run_id), workflow="other"))).is_same, False)
    await _is_free(store, new_run("c", key="key-c"))


async def check_a_key_is_that_of_its_workflow(store: CheckpointStore) -> None:
    """Another workflow may use the same one, and it is no id."""
    await store.create(_remembered("run", "key"))
    await end(store, "run", RunStatus.COMPLETED)
    await store.prune(_FAR)
    await _is_free(store, new_run("other", workflow="other", key="key"))
    await _is_free(store, new_run("key"))


async def check_what_is_not_to_be_remembered_is_free_again(store: CheckpointStore) -> None:
    """An id, a key, or both."""
    for run in (
        new_run("run", key="key"),
        replace(new_run("run", key="key"), remember_id=True),
        replace(new_run("run", key="key"), remember_key=True),
    ):
        await store.create(run)
        await end(store, "run", RunStatus.COMPLETED)
        equal(await store.prune(_FAR), 1)
        if not run.remember_id:
            await _is_free(store, new_run("run"))
        if not run.remember_key:
            await _is_free(store, new_run("another", key="key"))
        equal(await store.prune_keys(_FAR), run.remember_id + run.remember_key)


async def check_a_run_that_keeps_nothing_leaves_its_key(store: CheckpointStore) -> None:
    """At its end."""
    for status in (RunStatus.COMPLETED, RunStatus.CANCELLED):
        lease, _ = await store.create(replace(_remembered(status, status), keep=Keep.NONE))
        await store.commit(Commit(lease=lease_of(lease), closing=Closing(status)))
        equal((await _known(store, new_run("another", key=status))).status, status)
        equal((await _known(store, new_run(status))).run_id, status)


async def check_deleting_a_run_frees_its_key_and_id(store: CheckpointStore) -> None:
    """Also that of a run that was forgotten before."""
    for is_forgotten in (False, True):
        await store.create(_remembered("run", "key"))
        await end(store, "run", RunStatus.COMPLETED)
        if is_forgotten:
            await store.prune(_FAR)
        await store.delete("run")
        with refuses(RunNotFound):
            await store.delete("run")
        await _is_free(store, new_run("run", key="key"))


async def check_keys_are_pruned_by_the_end_of_their_runs(store: CheckpointStore) -> None:
    """The oldest first, in small numbers."""
    ends = []
    for run_id in "abcde":
        await store.create(_remembered(run_id))
        await end(store, run_id, RunStatus.COMPLETED)
        ended = (await store.info(run_id)).finished_at
        ends.append(_FAR if ended is None else ended)
    equal(await store.prune_keys(_FAR), 0)  # their runs are there
    await store.prune(_FAR)
    equal(await store.prune_keys(min(ends)), 0)
    equal(await store.prune_keys(max(ends) + timedelta(microseconds=1), limit=2), 2)
    equal(await store.prune_keys(_FAR), 3)
    for run_id in "abcde":
        await _is_free(store, new_run(run_id))


async def check_many_starts_at_once_are_refused_one_by_one(store: CheckpointStore) -> None:
    """Only those whose id or key is remembered."""
    await store.create(_remembered("old"))
    await end(store, "old", RunStatus.COMPLETED)
    await store.prune(_FAR)
    begun: list[str] = []

    async def start(run_id: str) -> None:
        try:
            await store.create(new_run(run_id))
        except KeyRemembered:
            return
        begun.append(run_id)

    async with anyio.create_task_group() as tasks:
        for run_id in ("a", "old", "b", "c"):
            tasks.start_soon(start, run_id)
    equal(sorted(begun), ["a", "b", "c"])


CHECKS: Final[tuple[Check, ...]] = (
    check_a_key_stays_taken_when_its_run_is_pruned,
    check_a_key_is_that_of_its_workflow,
    check_what_is_not_to_be_remembered_is_free_again,
    check_a_run_that_keeps_nothing_leaves_its_key,
    check_deleting_a_run_frees_its_key_and_id,
    check_keys_are_pruned_by_the_end_of_their_runs,
    check_many_starts_at_once_are_refused_one_by_one,
)
