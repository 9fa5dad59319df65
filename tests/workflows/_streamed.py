"""A process that works on a run and reads its stream until it kills itself with SIGKILL at some work of the store.

    python -m tests.workflows._streamed FOLDER KEEP POINT N

It goes on with the run and, from the cursor of the last line of FOLDER/parts, with its stream. Each part goes as a line
of JSON to FOLDER/parts when it is read; what waits is answered then. With N 0 it does not kill itself.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import anyio
from tests.workflows._victim import Killer, Lines, Store

from stagepost.checkpoint import AlreadyAnswered, ItemStatus, Keep, RunNotFound, WaitNotFound
from stagepost.workflows import Chain, Parallel, Runner, RunPart, State, Step, StepContext, Wait, WaitBegan, step

RUN_ID = "streamed"


def adds(name: str) -> Step:
    def add(state: State, context: StepContext) -> Mapping[str, object]:
        context.tell(name)
        return {"path": [*state.get("path", []), name]}

    return step(name, add, inline=True)


def workflow() -> Chain:
    fan = Parallel("fan", Chain("each", [step("one", lambda _: None, inline=True), Wait("vote")]), over="items")
    return Chain("streamed", [adds("a"), Wait("ask"), adds("b"), fan, adds("c"), Wait("again"), adds("d"), adds("e")])


def last_cursor(folder: Path) -> str | None:
    parts = folder / "parts"
    lines = parts.read_text().splitlines() if parts.exists() else []
    return json.loads(lines[-1])["cursor"] if lines else None


async def read(runner: Runner, folder: Path) -> None:
    lines = Lines(folder / "parts")
    async with runner.stream(RUN_ID, after=last_cursor(folder)) as stream:
        async for part in stream:
            lines.add(json.dumps(part.to_dict()))
            await answer(runner, part)


async def answer(runner: Runner, part: RunPart) -> None:
    if isinstance(part, WaitBegan):
        with suppress(AlreadyAnswered, WaitNotFound):
            await runner.answer(part.wait_id, ItemStatus.OK)


async def main(*arguments: str) -> None:
    given, keep, point, number = arguments
    folder = Path(given)
    killer = Killer(point, int(number))
    work = workflow()
    async with Store(folder / "runs.db", killer) as store, Runner(store, workflows=[work]) as runner:
        await killer.runner_is_entered()
        await runner.recover()
        with suppress(RunNotFound):
            if not (await runner.runs.info(RUN_ID)).status.is_open:
                await read(runner, folder)
                return
        await runner.start(work, {"items": [1, 2, 3]}, run_id=RUN_ID, keep=Keep(keep))
        await read(runner, folder)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
