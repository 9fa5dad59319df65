"""`context.once` runs an effect at most once, whenever its process is killed; what nobody knows of is asked about.

Another process appends to a file, as an effect, and is killed: before its intent is saved, between intent and effect,
between effect and outcome, between outcome and the step's own commit, and behind that.
"""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from tests.workflows._kills import forked, lines
from tests.workflows._words import running

from stagepost.checkpoint import Commit, EffectStatus, RunStatus, SqliteStore
from stagepost.workflows import Chain, EffectNotDone, Graph, Parallel, Pattern, Runner, State, StepContext, step

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

KILLS = ("before the intent", "behind the intent", "behind the effect", "behind the outcome", "behind the step")
IN_DOUBT = {"behind the intent", "behind the effect"}
HAPPENED = {"behind the effect", "behind the outcome", "behind the step"}
PLACES = {"step": "pay", "item": "fan[0]", "pattern": "fan[0]/pay", "fold": "fold[0]", "cycle": "pay#1"}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Store(SqliteStore):
    """Kills its process round the first commit that says something of an effect, or the first one behind."""

    def __init__(self, path: Path, kill: str) -> None:
        super().__init__(path, durability="process", lock_timeout=5)
        self._kill = kill
        self._is_done = False

    async def commit(self, commit: Commit) -> None:
        status = commit.effects[0].status if commit.effects else None
        if status is EffectStatus.INTENT and self._kill == "before the intent":
            die()
        if status is EffectStatus.DONE and self._kill == "behind the effect":
            die()
        await super().commit(commit)
        if status is EffectStatus.INTENT and self._kill == "behind the intent":
            die()
        if status is EffectStatus.DONE and self._kill == "behind the outcome":
            die()
        if self._is_done and self._kill == "behind the step":
            die()
        self._is_done = self._is_done or status is EffectStatus.DONE


def workflow(shape: str, folder: Path, on_unknown: bool = False) -> Pattern:  # noqa: FBT001, FBT002  # of a test
    """A workflow with one effect, which appends its place to a file."""
    file = os.open(folder / "effects", os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    async def pay(context: StepContext) -> int:
        def effect() -> int:
            os.write(file, f"{context.place}\n".encode())
            return 7

        def look() -> int:
            if context.place in lines(folder / "effects"):
                return 7
            raise EffectNotDone

        return await context.once("pay", effect, on_unknown=look if on_unknown else None)

    async def of_state(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await pay(context)}

    async def of_item(item: int, context: StepContext) -> int:
        return await pay(context)

    async def of_both(state: State, item: int, context: StepContext) -> Mapping[str, object]:
        return {"paid": await pay(context)}

    graph = Graph("work")
    graph.add("pay", step("pay", of_state))
    graph.start("pay")
    graph.finish("pay")
    shapes: Mapping[str, Pattern] = {
        "step": Chain("work", [step("pay", of_state)]),
        "item": Chain("work", [Parallel("fan", step("pay", of_item), over="items")]),
        "pattern": Chain("work", [Parallel("fan", Chain("item", [step("pay", of_state)]), over="items")]),
        "fold": Chain("work", [Chain.fold("fold", of_both, over="items")]),
        "cycle": graph,
    }
    return shapes[shape]


async def main(*arguments: str) -> None:
    """The life of the process that is killed."""
    shape, folder, kill = arguments
    work = workflow(shape, Path(folder))
    async with Store(Path(folder) / "runs.db", kill) as store, Runner(store, workflows=[work]) as runner:
        await (await runner.start(work, {"items": [0]}, run_id="r1")).result()


async def killed(shape: str, folder: Path, kill: str) -> None:
    with fail_after(30):
        done = await forked(__file__, shape, folder, kill)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")


CASES = [("step", kill) for kill in KILLS] + [(shape, kill) for shape in PLACES if shape != "step" for kill in IN_DOUBT]


@pytest.mark.parametrize(("shape", "kill"), sorted(CASES), ids=lambda part: str(part).replace(" ", "-"))
async def test_p8_an_effect_happens_at_most_once(tmp_path: Path, shape: str, kill: str) -> None:
    await killed(shape, tmp_path, kill)
    assert len(lines(tmp_path / "effects")) == (kill in HAPPENED)
    work = workflow(shape, tmp_path)
    async with running(SqliteStore(tmp_path / "runs.db"), work) as runner:
        await runner.recover()
        run = await runner.get("r1")
        status = await run.settled()
        assert (status is RunStatus.WAITING) == (kill in IN_DOUBT)
        if kill in IN_DOUBT:
            assert run.waits == (f"r1/{PLACES[shape]}",)
            assert len(lines(tmp_path / "effects")) == (kill in HAPPENED)
            word: dict[str, Any] = {"value": 7} if kill in HAPPENED else {"retry": True}
            await runner.settle("r1", "pay", **word)
        await run.result()
    assert lines(tmp_path / "effects") == [PLACES[shape]]


@pytest.mark.parametrize("kill", sorted(IN_DOUBT), ids=lambda kill: str(kill).replace(" ", "-"))
async def test_p8_on_unknown_finds_out_behind_a_kill(tmp_path: Path, kill: str) -> None:
    await killed("step", tmp_path, kill)
    work = workflow("step", tmp_path, on_unknown=True)
    async with running(SqliteStore(tmp_path / "runs.db"), work) as runner:
        await runner.recover()
        assert (await (await runner.get("r1")).result())["paid"] == 7
    assert lines(tmp_path / "effects") == ["pay"]


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
