"""A workflow that pays once, and the functions by which tests start it in any process."""

from pathlib import Path

from stagepost.checkpoint import CheckpointStore, MemoryStore, SqliteStore
from stagepost.workflows import Chain, EffectNotDone, Runner, State, StepContext, Wait, step


class Till:
    """Where what was paid is written down; None: nowhere."""

    def __init__(self, file: Path | None) -> None:
        self.file = file

    def pay(self, what: str) -> str:
        if self.file is not None:
            with self.file.open("a") as file:
                file.write(f"{what}\n")
        return what

    def find(self, what: str) -> str:
        if self.file is None or not self.file.exists():
            raise EffectNotDone
        return what


@step
def pack(state: State) -> dict[str, object]:
    return {"packed": [state["item"]]}


@step
async def pay(state: State, context: StepContext) -> dict[str, object]:
    till: Till = context.deps

    def find() -> str:
        return till.find(state["item"])

    return {"paid": await context.once("charge", lambda: till.pay(state["item"]), on_unknown=find)}


order = Chain("order", [pack, Wait("approve"), pay])


def make_runner(store: CheckpointStore) -> Runner:
    folder = None if isinstance(store, MemoryStore) else place(store)
    return Runner(
        store, workflows=[order], deps=Till(None if folder is None else folder / "till.txt"), max_attempts=None
    )


def place(store: CheckpointStore) -> Path:
    assert isinstance(store, SqliteStore)
    return store.path.parent


async def drive(runner: Runner) -> dict[str, object]:
    run = await runner.start(order, {"item": "tea"}, run_id="order")
    if (await run.settled()).is_open:
        for wait in await runner.waits(run.id):
            await runner.answer(wait.id, "yes")
    return dict(await run.result())


async def drive_badly(runner: Runner) -> dict[str, object]:
    raise RuntimeError("broken by itself")


async def drive_differently(runner: Runner) -> int:
    """What differs from life to life."""
    run = await runner.start(order, {"item": "tea"}, run_id="order")
    return (await runner.runs.info(run.id)).epoch


async def wait_for_ever(runner: Runner) -> dict[str, object]:
    """For an answer that nobody gives."""
    return dict(await (await runner.start(order, {"item": "tea"}, run_id="order")).result())
