"""Chains that are heard while they work."""

from typing import Any

import anyio
import pytest
from anyio import fail_after, move_on_after
from tests.agents.test_then import agent, answering, echo

from stagepost.agents import (
    AgentChain,
    ChainedFailure,
    FunctionModel,
    InvalidRequest,
    MessageSaid,
    ScriptedModel,
    StreamNotOver,
    StreamPart,
    TaskCompleted,
    TaskFailed,
    TokenArrived,
)

PATIENCE = 30


def chain() -> AgentChain[Any]:
    return agent("find", echo("found")).then(agent("write", echo("wrote")))


async def heard(stream: Any) -> list[StreamPart]:
    with fail_after(PATIENCE):
        return [part async for part in stream]


async def test_the_parts_of_each_agent_come_in_their_order() -> None:
    async with chain().stream("bees") as stream:
        with pytest.raises(StreamNotOver):
            stream.result  # noqa: B018  # it raises
        parts = await heard(stream)
    assert [part.path for part in parts if isinstance(part, TaskCompleted)] == [("find",), ("write",)]
    said = [(part.path[0], part.text) for part in parts if isinstance(part, MessageSaid) and part.role == "assistant"]
    assert said == [("find", "found(bees)"), ("write", "wrote(found(bees))")]
    assert isinstance(parts[-1], TaskCompleted)
    assert stream.result.output == "wrote(found(bees))"
    assert [each.output for each in stream.result.results] == ["found(bees)", "wrote(found(bees))"]


async def test_the_text_of_all_agents_is_told() -> None:
    async with chain().stream("bees") as stream:
        with fail_after(PATIENCE):
            assert "".join([words async for words in stream.text()]) == "found(bees)wrote(found(bees))"


async def test_a_failure_is_the_last_part_and_the_result_raises_it() -> None:
    both = agent("find", answering("found")).then(agent("write", ScriptedModel([RuntimeError("broken")] * 9)))
    async with both.stream("bees") as stream:
        parts = await heard(stream)
    assert isinstance(parts[-1], TaskFailed)
    with pytest.raises(ChainedFailure, match="agent 'write' has failed as number 2 of 2") as failure:
        stream.result  # noqa: B018  # it raises
    assert [each.output for each in failure.value.upstream] == ["found"]


async def test_a_request_that_the_first_agent_does_not_take_is_refused() -> None:
    async with chain().stream(7) as stream:
        assert await heard(stream) == []
    with pytest.raises(InvalidRequest):
        stream.result  # noqa: B018  # it raises


async def test_leaving_early_cancels_the_run() -> None:
    ended: list[str] = []

    async def slow(request: object) -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")
        return ""

    first = agent("find", FunctionModel(slow)).then(agent("write", echo("wrote")))
    with fail_after(PATIENCE):
        async with first.stream("bees") as stream:
            await anext(stream)
            await anyio.wait_all_tasks_blocked()
    assert ended == ["cancelled"]


async def test_each_part_may_be_awaited_in_a_scope_of_its_own() -> None:
    parts: list[StreamPart] = []
    async with chain().stream("bees") as stream:
        while True:
            with move_on_after(PATIENCE):
                try:
                    parts.append(await anext(stream))
                except StopAsyncIteration:
                    break
    assert isinstance(parts[-1], TaskCompleted)


async def test_an_error_in_the_block_passes_and_a_cancellation_ends_it() -> None:
    with pytest.raises(KeyError):
        async with chain().stream("bees"):
            raise KeyError("mine")
    with fail_after(PATIENCE), move_on_after(0):
        async with chain().stream("bees"):
            await anyio.sleep_forever()


async def test_a_stream_is_entered_once_and_before_it_is_read() -> None:
    stream = chain().stream("bees")
    with pytest.raises(RuntimeError, match="enter the stream first"):
        await anext(stream)
    async with stream:
        with pytest.raises(RuntimeError, match="entered once"):
            await stream.__aenter__()
        await heard(stream)


async def test_what_is_no_failure_leaves_the_block() -> None:
    def stop(request: object) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        async with agent("find", FunctionModel(stop)).then(agent("write", echo("wrote"))).stream("bees") as stream:
            await heard(stream)


async def test_a_reader_chooses_what_it_hears() -> None:
    async with chain().stream("bees", include_thinking=False) as stream:
        parts = await heard(stream)
    assert {part.type for part in parts if not isinstance(part, TokenArrived)} == {"message", "completed"}
