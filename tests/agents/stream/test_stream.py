"""Streams of runs as their readers hold them: what is the same in memory and in a store."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.agents.stream._streaming import (
    Streaming,
    Writer,
    all_of,
    both_stream,
    in_memory,
    numbered,
    text_of,
    types,
    until,
)

from stagepost.agents import (
    Agent,
    AgentGaveUp,
    Gap,
    InvalidRequest,
    MessageSaid,
    ModelMissing,
    ModelRequest,
    ModelResponse,
    PartialOutput,
    ScriptedModel,
    StreamNotOver,
    TaskCompleted,
    TaskFailed,
    TaskStream,
    Token,
    TokenArrived,
    ToolCalled,
    TurnBegan,
    call,
    tool,
)
from stagepost.workflows import RunFailed


@tool
def add(a: int, b: int) -> int:
    """Add {a} and {b}."""
    return a + b


def adder(**options: Any) -> Agent[str]:
    """Calls a tool, and says what it has come to."""
    model = ScriptedModel([ModelResponse(thinking="sums are easy", calls=(call("add", a=1, b=2),)), "It is three."])
    return Agent("adder", prompt="", model=model, tools=[add], **options)


class Repeater:
    """Says what was said, and lets others have their turn meanwhile."""

    async def answer(self, request: ModelRequest) -> ModelResponse:
        text = request.messages[-1].text
        assert request.on_token is not None
        for number, word in enumerate(text.split(" ")):
            request.on_token(Token(number, f" {word}" if number else word))
            await anyio.lowlevel.checkpoint()
        return ModelResponse(text=text)


def asking(**options: Any) -> Agent[str]:
    """Asks the adder."""
    model = ScriptedModel([call("message_agent", agent_name="adder", message="one and two"), "Three, it says."])
    return Agent("lead", prompt="", model=model, sub_agents=[adder(description="It adds.")], **options)


@both_stream
async def test_parts_come_in_their_order(streaming: Streaming) -> None:
    async with streaming(adder()) as stream:
        parts = await all_of(stream)
    assert types(parts) == [
        "message", "turn", "token", "message", "tool_call", "tool_result", "turn", "token", "message", "completed",
    ]  # fmt: skip
    assert [part.seq for part in numbered(parts)] == [0, 1, 1, 2, 3, None]
    assert {(part.task_id, part.path) for part in parts} == {(stream.task_id, ("adder",))}
    assert [part.iteration for part in parts if isinstance(part, TurnBegan)] == [0, 1]


@both_stream
async def test_tokens_are_the_text_of_the_message_that_follows(streaming: Streaming) -> None:
    async with streaming(adder()) as stream:
        parts = await all_of(stream)
    assert (text_of(parts, 0, "thinking"), text_of(parts, 1)) == ("sums are easy", "It is three.")
    assert text_of(parts, 0, "arguments") == '{"a":1,"b":2}'
    assert [part.text for part in parts if isinstance(part, MessageSaid)] == ["go", "", "It is three."]


@both_stream
async def test_the_result_is_there_once_the_last_part_was_told(streaming: Streaming) -> None:
    async with streaming(adder()) as stream:
        with pytest.raises(StreamNotOver, match=stream.task_id):
            _ = stream.result
        await until(stream, TaskCompleted)
        assert stream.result.output == "It is three."
        assert await all_of(stream) == []
    assert (stream.result.turns, len(stream.result.messages)) == (2, 4)


async def test_a_stream_that_was_not_entered_has_no_result() -> None:
    with pytest.raises(StreamNotOver, match="iterate to the end"):
        _ = adder().stream("go").result


@both_stream
async def test_a_run_that_fails_has_its_error_as_the_last_part(streaming: Streaming) -> None:
    agent = Agent("adder", prompt="", model=ScriptedModel([call("fail", reason="too hard")]), output=int)
    async with streaming(agent) as stream:
        parts = await all_of(stream)
    last = parts[-1]
    assert isinstance(last, TaskFailed)
    assert "too hard" in last.error
    assert "graph" not in last.error
    with pytest.raises(AgentGaveUp if streaming is in_memory else RunFailed, match="too hard"):
        _ = stream.result


@both_stream
async def test_tokens_of_an_answer_that_has_failed_are_told_before_the_end(streaming: Streaming) -> None:
    class Breaking(Writer):
        async def answer(self, request: Any) -> ModelResponse:
            await super().answer(request)
            raise ValueError("cut")

    async with streaming(Agent("writer", prompt="", model=Breaking("so far", after=9))) as stream:
        assert types(await all_of(stream)) == ["message", "turn", "token", "error"]


async def test_what_is_wrong_with_a_request_is_raised_before_the_run() -> None:
    class Question(BaseModel):
        text: str

    with pytest.raises(InvalidRequest):
        adder(input=Question).stream({"text": 3})
    with pytest.raises(InvalidRequest, match="after="):
        adder().stream("go", after=3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ModelMissing):
        Agent("adder", prompt="").stream("go")


# choices


@both_stream
async def test_a_reader_without_thinking_is_told_neither_of_it_nor_of_turns(streaming: Streaming) -> None:
    async with streaming(adder(), include_thinking=False) as stream:
        parts = await all_of(stream)
    assert "turn" not in types(parts)
    assert {part.kind for part in parts if isinstance(part, TokenArrived)} == {"arguments", "text"}
    assert {part.thinking for part in parts if isinstance(part, MessageSaid)} == {""}


@both_stream
async def test_a_reader_without_tool_events_is_told_of_no_calls(streaming: Streaming) -> None:
    async with streaming(adder(), include_tool_events=False) as stream:
        parts = await all_of(stream)
    assert types(parts) == ["message", "turn", "token", "message", "turn", "token", "message", "completed"]
    assert {part.kind for part in parts if isinstance(part, TokenArrived)} == {"thinking", "text"}
    assert [part.seq for part in numbered(parts)] == [0, 1, 3, None], "filters do not renumber"


@both_stream
async def test_agents_below_are_told_with_their_path_between_the_call_and_its_result(streaming: Streaming) -> None:
    async with streaming(asking()) as stream:
        parts = await all_of(stream)
    own = [part for part in parts if part.path == ("lead",)]
    assert types(own) == [
        "message", "turn", "token", "tool_call", "agent_started", "agent_finished", "tool_result",
        "turn", "token", "message", "completed",
    ]  # fmt: skip
    below = [index for index, part in enumerate(parts) if part.path == ("lead", "adder")]
    assert types(parts[index] for index in below) == [
        "message", "turn", "token", "message", "tool_call", "tool_result", "turn", "token", "message",
    ]  # fmt: skip
    places = {part.type: index for index, part in enumerate(parts) if part.path == ("lead",)}
    assert places["agent_started"] < below[0]
    assert below[-1] < places["agent_finished"]
    assert len({parts[index].visit for index in below}) == 1


@both_stream
async def test_parallel_conversations_with_one_agent_do_not_mix(streaming: Streaming) -> None:
    echo = Agent("echo", prompt="", description="It repeats.", model=Repeater())
    asks = [call("message_agent", agent_name="echo", message=word) for word in ("one two", "three four")]
    lead = Agent("lead", prompt="", model=ScriptedModel([asks, "Done."]), sub_agents=[echo])
    async with streaming(lead) as stream:
        parts = await all_of(stream)
    below = [part for part in parts if part.path == ("lead", "echo")]
    visits = sorted({part.visit for part in below})
    texts = {text_of([part for part in below if part.visit == visit]) for visit in visits}
    assert (len(visits), texts) == (2, {"one two", "three four"})


@both_stream
async def test_a_reader_of_the_root_is_told_nothing_of_the_agents_below(streaming: Streaming) -> None:
    async with streaming(asking(), below=False) as stream:
        parts = await all_of(stream)
    assert {part.path for part in parts} == {("lead",)}
    assert {"agent_started", "agent_finished"} <= set(types(parts))


@both_stream
async def test_choices_do_not_lose_the_cursor(streaming: Streaming) -> None:
    ends = set()
    for options in ({}, {"below": False, "include_thinking": False, "include_tool_events": False}):
        async with streaming(asking(), **options) as stream:
            await all_of(stream)
        assert stream.cursor is not None
        ends.add(stream.cursor.partition("-")[2])
    assert len(ends) == 1


class Report(BaseModel):
    city: str
    degrees: list[int]


REPORT = '{"city": "Oslo", "degrees": [3, 4]}'


def reporting(mode: Any) -> Agent[Report]:
    entry = call("return", city="Oslo", degrees=[3, 4]) if mode == "tool" else REPORT
    return Agent("reporter", prompt="", model=ScriptedModel([entry]), output=Report, output_mode=mode)


@both_stream
@pytest.mark.parametrize("mode", ["tool", "native", "prompted"])
async def test_typed_answers_are_told_as_they_grow(streaming: Streaming, mode: str) -> None:
    async with streaming(reporting(mode), partial=True) as stream:
        parts = await all_of(stream)
    outputs: list[Any] = [part.output for part in parts if isinstance(part, PartialOutput)]
    assert len(outputs) > 1
    assert outputs[-1] == {"city": "Oslo", "degrees": [3, 4]}
    assert stream.result.output == Report(city="Oslo", degrees=[3, 4])


@both_stream
async def test_typed_answers_are_not_told_unasked(streaming: Streaming) -> None:
    async with streaming(reporting("tool")) as stream:
        assert "partial" not in types(await all_of(stream))


# readers


@both_stream
async def test_a_reader_hears_tokens_while_the_answer_is_written(streaming: Streaming) -> None:
    model = Writer("It is three.")
    async with streaming(Agent("writer", prompt="", model=model)) as stream:
        assert types(await until(stream, TurnBegan)) == ["message", "turn"]
        assert [(await anext(stream)).to_dict()["token"] for _ in range(2)] == ["It", " is"]
        model.may_go_on.set()
        assert types(await all_of(stream)) == ["token", "message", "completed"]


@both_stream
async def test_cancelling_a_reader_that_waits_loses_nothing(streaming: Streaming) -> None:
    model = Writer("It is three.")
    async with streaming(Agent("writer", prompt="", model=model)) as stream:
        parts = await until(stream, TokenArrived)
        parts.append(await anext(stream))
        for _ in range(3):
            with anyio.CancelScope() as scope:
                scope.cancel()
                parts.append(await anext(stream))
            assert scope.cancelled_caught
        model.may_go_on.set()
        parts += await all_of(stream)
    assert types(parts) == ["message", "turn", "token", "message", "completed"]
    assert text_of(parts) == "It is three."


@both_stream
async def test_a_reader_that_falls_behind_is_told_which_tokens_are_missing(streaming: Streaming) -> None:
    model = Writer(" ".join(str(number) for number in range(30)), after=1)
    async with streaming(Agent("writer", prompt="", model=model), buffer=3) as stream:
        await until(stream, TokenArrived)
        await model.has_written.wait()
        model.may_go_on.set()
        gap, *rest = await all_of(stream)
    assert isinstance(gap, Gap)
    assert (gap.from_, gap.to, gap.generation) == (1, 26, 0)
    assert [part.index for part in rest if isinstance(part, TokenArrived)] == [27, 28, 29]
    assert types(rest) == ["token", "message", "completed"], "numbered parts are never dropped"


@both_stream
async def test_an_error_of_the_reader_comes_out_as_it_is(streaming: Streaming) -> None:
    async def read() -> None:
        async with streaming(adder()) as stream:
            await anext(stream)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await read()


@both_stream
async def test_a_stream_is_entered_once(streaming: Streaming) -> None:
    async with streaming(adder()) as stream:
        await all_of(stream)
        with pytest.raises(RuntimeError, match="entered once"):
            await stream.__aenter__()


@both_stream
async def test_a_stream_is_read_by_one_task_at_a_time(streaming: Streaming) -> None:
    model = Writer("It is three.")
    async with streaming(Agent("writer", prompt="", model=model)) as stream, anyio.create_task_group() as group:
        group.start_soon(all_of, stream)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(10), pytest.raises(anyio.BusyResourceError):
            await anext(stream)
        model.may_go_on.set()


async def test_a_stream_is_read_in_its_block() -> None:
    stream = adder().stream("go")
    with pytest.raises(RuntimeError, match="enter its block"):
        await anext(stream)
    with pytest.raises(RuntimeError, match="enter its block"):
        _ = stream.task_id


# in memory


async def test_leaving_early_cancels_a_run_in_memory() -> None:
    ended = list[str]()

    @tool
    async def wait() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")
        return ""

    agent = Agent("waiter", prompt="", model=ScriptedModel([call("wait"), "done"]), tools=[wait])
    async with in_memory(agent) as stream:
        await until(stream, ToolCalled)
        await anyio.wait_all_tasks_blocked()
    assert ended == ["cancelled"]


async def test_cancelling_the_reader_from_outside_cancels_a_run_in_memory() -> None:
    model = Writer("It is three.")
    with anyio.CancelScope() as scope:
        async with in_memory(Agent("writer", prompt="", model=model)) as stream:
            async for part in stream:
                if isinstance(part, TokenArrived):
                    scope.cancel()
    assert scope.cancelled_caught


async def test_a_run_in_memory_goes_on_after_another() -> None:
    agent = Agent("adder", prompt="", model=ScriptedModel(["First.", "Second."]))
    first = await agent.run("go")
    async with in_memory(agent, "on", after=first) as stream:
        parts = await all_of(stream)
    assert [part.seq for part in numbered(parts)] == [2, 3, None]
    assert len(stream.result.messages) == 4


async def test_secrets_are_masked_in_all_parts() -> None:
    @tool
    def show() -> str:
        return "it is hunter2"

    agent = Agent("leaky", prompt="", model=ScriptedModel([call("show"), "hunter2, I know"]), tools=[show])
    async with in_memory(agent, secrets={"word": "hunter2"}) as stream:
        parts = await all_of(stream)
    assert text_of(parts, 1) == "***, I know"
    assert "hunter2" not in str(parts)


async def test_an_interrupt_of_a_run_in_memory_reaches_the_reader() -> None:
    @tool
    def stop() -> str:
        raise KeyboardInterrupt

    agent = Agent("stopping", prompt="", model=ScriptedModel([call("stop"), "done"]), tools=[stop])
    with pytest.raises(KeyboardInterrupt):
        async with in_memory(agent) as stream:
            await all_of(stream)


async def test_a_generator_around_a_stream_may_be_left_early() -> None:
    model = Writer("It is three.")

    async def words(stream: TaskStream[str]) -> AsyncGenerator[str, None]:
        async for part in stream:
            if isinstance(part, TokenArrived):
                yield part.token

    async with in_memory(Agent("writer", prompt="", model=model)) as stream, aclosing(words(stream)) as told:
        assert await anext(told) == "It"


@both_stream
async def test_the_text_of_a_stream_is_what_its_agent_says(streaming: Streaming) -> None:
    model = ScriptedModel([ModelResponse(text="Let me see. ", calls=(call("add", a=1, b=2),)), "It is three."])
    async with streaming(Agent("adder", prompt="", model=model, tools=[add])) as stream:
        assert "".join([words async for words in stream.text()]) == "Let me see. It is three."
        assert stream.result.output == "It is three."


async def test_the_text_has_the_message_of_an_answer_whose_tokens_were_not_told() -> None:
    class Silent:
        async def answer(self, _: ModelRequest, /) -> ModelResponse:
            return ModelResponse("All at once.")

    async with Agent("a", prompt="", model=Silent()).stream("go") as stream:
        assert [words async for words in stream.text()] == ["All at once."]
