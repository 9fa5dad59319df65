"""What an agent below tells late, once its failure was read, is told to nobody."""

import anyio
import pytest
from anyio import fail_after

from stagepost.agents import (
    Agent,
    FunctionModel,
    ModelRejected,
    ModelRequest,
    ModelResponse,
    Tasks,
    call,
)
from stagepost.agents._stream._finding import loops_of
from stagepost.agents._stream._read import read
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import Runner


@pytest.mark.parametrize("is_open", [True, False])
async def test_no_turn_of_an_agent_that_has_failed_is_to_come(*, is_open: bool) -> None:
    reached, goes_on = anyio.Event(), anyio.Event()

    async def lead(request: ModelRequest) -> ModelResponse:
        if request.answers:
            reached.set()
            await goes_on.wait()
            return ModelResponse("done")
        return ModelResponse(
            calls=[call("message_agent", agent_name="below", message="go").model_copy(update={"id": "c"})]
        )

    async def below(_: ModelRequest) -> ModelResponse:
        if is_open:
            reached.set()
            await goes_on.wait()
        raise ModelRejected("below", "never")

    agent = Agent("below", "Fail.", model=FunctionModel(below))
    top = Agent("lead", "Lead.", model=FunctionModel(lead), sub_agents=[agent])
    with fail_after(10):
        async with MemoryStore() as store, Runner(store, workflows=[top]) as runner:
            run = await Tasks(runner).start(top, "go", task_id="t")
            await reached.wait()
            with runner.listen("t") as listening:
                batch = await read(listening.source, loops_of(runner), "t")
            goes_on.set()
            await run.result()
    kinds = [part.type for part in batch.parts]
    assert ("agent_finished" in kinds) is not is_open
    assert batch.runs["t.below-0-0-0"].turn == (0 if is_open else 1), "what is told of an earlier turn is obsolete"
