"""Another process finishes the runs of one that is stopped; when that one wakes up, nothing that it does counts."""

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._processes import running

from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.workflows import Chain, Runner, State, step

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

# is stopped in its second step; when it is told to go on, it ends that step and tries to start another run
OWNER = """
import sys, anyio
from stagepost.checkpoint import CheckpointError, SqliteStore
from stagepost.workflows import Runner
from tests.workflows.test_p9_take_over import workflow

async def slow(state):
    print("in the second step", flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)
    return {"by": "the owner before"}

async def main():
    work = workflow(slow)
    async with SqliteStore(sys.argv[1]) as store, Runner(store, workflows=[work]) as runner:
        run = await runner.start(work, run_id="run")
        for attempt in (run.result, lambda: runner.start(work, run_id="another"), lambda: runner.cancel("run")):
            try:
                await attempt()
                print("done", flush=True)
            except CheckpointError as error:
                print(type(error).__name__, flush=True)

anyio.run(main)
"""


def workflow(second: Callable[[State], Awaitable[dict[str, object]]]) -> Chain:
    async def first(state: State) -> dict[str, object]:
        return {"first": True}

    async def third(state: State) -> dict[str, object]:
        return {"third": state["by"]}

    return Chain("work", [first, step("second", second), third])


async def test_p9_a_run_that_was_taken_over_ends_once(tmp_path: Path) -> None:
    async def quick(state: State) -> dict[str, object]:
        return {"by": "whoever took over"}

    file, work = tmp_path / "runs.db", workflow(quick)
    with fail_after(120):
        async with running(OWNER, file) as owner:
            assert await owner.line() == "in the second step"
            os.kill(owner.process.pid, signal.SIGSTOP)
            async with SqliteStore(file, take_over=True) as store, Runner(store, workflows=[work]) as runner:
                (run,) = (await runner.recover()).resumed
                result = await run.result()
                after = await store.load("run")
                assert owner.process.stdin is not None
                os.kill(owner.process.pid, signal.SIGCONT)
                await owner.process.stdin.send(b"go on\n")
                assert await owner.rest() == ["StoreTakenOver"] * 3
                assert await owner.process.wait() == 0
                assert [await store.load(each.run_id) for each in (await store.find()).items] == [after]
    assert result == {"first": True, "by": "whoever took over", "third": "whoever took over"}
    assert (after.run.status, after.run.epoch) == (RunStatus.COMPLETED, 2)
