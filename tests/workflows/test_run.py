import anyio
import pytest
from anyio import fail_after
from tests.workflows._words import PATIENCE

from stagepost.checkpoint import RunStatus
from stagepost.workflows import Run, RunFailed, RunnerStopped
from stagepost.workflows._ids import new_run_id
from stagepost.workflows._runner._presence import Presence
from stagepost.workflows._runner._stay import Stay


async def test_any_number_of_tasks_may_wait_for_a_result() -> None:
    presence = Presence()
    record = presence.begin("r1", "work", Stay.PARKED)
    run = Run("r1", "work", record)
    results: list[object] = []

    async def wait() -> None:
        results.append(await run.result())

    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(wait)
            presence.end(record, RunStatus.COMPLETED, state={"a": 1})
    assert results == [{"a": 1}] * 3
    assert (await run.result(), run.status, run.workflow, run.id) == ({"a": 1}, RunStatus.COMPLETED, "work", "r1")


async def test_a_failure_is_raised_at_everybody() -> None:
    presence = Presence()
    record = presence.begin("r1", "work", Stay.PARKED)
    run = Run("r1", "work", record)
    presence.end(record, RunStatus.FAILED, error=RunFailed("r1", "no luck"))
    for _ in range(2):
        with pytest.raises(RunFailed, match="run 'r1' failed: no luck"):
            await run.result()
    assert run.status is RunStatus.FAILED
    assert repr(run) == "<Run r1 of work: failed>"


async def test_only_the_first_end_counts() -> None:
    presence = Presence()
    record = presence.begin("r1", "work", Stay.PARKED)
    presence.end(record, RunStatus.COMPLETED, state=1)
    presence.lose(record, RunnerStopped("r1"))
    presence.end(record, RunStatus.FAILED, error=RunFailed("r1", "late"))
    assert await Run("r1", "work", record).result() == 1


def test_ids_of_runs_sort_by_time_and_differ() -> None:
    ids = [new_run_id() for _ in range(100)]
    assert len(set(ids)) == 100
    assert [i.partition("-")[0] for i in ids] == sorted(i.partition("-")[0] for i in ids)
