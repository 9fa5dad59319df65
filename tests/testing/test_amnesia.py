"""Lives that end after each commit."""

import pytest
from anyio import fail_after
from tests.testing._order import drive, drive_badly, make_runner, wait_for_ever

from stagepost.checkpoint import CheckpointStore
from stagepost.testing import amnesia
from stagepost.workflows import Chain, Runner, State, step


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_run_that_keeps_all_in_its_state_survives_any_loss_of_memory() -> None:
    with fail_after(30):
        assert await amnesia(make_runner, drive) == {"item": "tea", "packed": ["tea"], "approve": "yes", "paid": "tea"}


async def test_what_a_life_kept_in_memory_is_lost() -> None:
    lives: list[Chain] = []

    def forgetful(store: CheckpointStore) -> Runner:
        memory: list[str] = []

        @step
        def remember(state: State) -> dict[str, object]:
            memory.append("tea")
            return {"remembered": True}

        @step
        def recall(state: State) -> dict[str, object]:
            return {"found": list(memory)}

        lives.append(Chain("work", [remember, recall]))
        return Runner(store, workflows=[lives[-1]])

    async def run(runner: Runner) -> object:
        return (await (await runner.start(lives[-1], run_id="work")).result())["found"]

    with fail_after(30):
        assert await amnesia(forgetful, run) == []
    assert len(lives) > 2


async def test_an_error_of_the_test_is_raised_as_it_is() -> None:
    with fail_after(30), pytest.raises(RuntimeError, match="broken by itself"):
        await amnesia(make_runner, drive_badly)


async def test_lives_without_end_take_the_time_that_they_are_given() -> None:
    with fail_after(30), pytest.raises(TimeoutError):
        await amnesia(make_runner, wait_for_ever, timeout=0.2)
