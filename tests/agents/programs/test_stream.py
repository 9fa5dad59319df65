"""Streams of agents with programs: their calls are told like those of a model, once, wherever a reader goes on."""

from typing import Any

import pytest
from tests.agents.programs._orders import Asked, look, send

from stagepost.agents import Agent, AgentTool, ScriptedModel, StreamPart, Tasks, tool
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import Runner

PROGRAMS = [
    '(println "a") (pmap (fn [i] (tool/look {:id i})) [1 2]) (tool/send {:to "ann"}) (def a 1)',
    "(return {:total a})",
]
NUMBERED = [
    ("message", None), ("message", None), ("tool_call", "program-0-0.1"), ("tool_call", "program-0-1.2"),
    ("tool_result", "program-0-0.1"), ("tool_result", "program-0-1.2"), ("tool_call", "program-0-2"),
    ("tool_result", "program-0-2"), ("message", None), ("message", None), ("completed", None),
]  # fmt: skip


def shape(parts: list[StreamPart]) -> list[tuple[str, str | None]]:
    return [(part.type, part.call_id) for part in parts if part.cursor is not None]


async def test_a_run_in_memory_tells_the_calls_of_its_programs() -> None:
    asked = Asked(*PROGRAMS)
    async with asked.agent.stream({"rows": []}) as stream:
        parts = [part async for part in stream]
    assert shape(parts) == NUMBERED
    assert [part.iteration for part in parts if part.type == "turn"] == [0, 1]  # type: ignore[attr-defined]  # it has one
    text = "".join(part.token for part in parts if part.type == "token")  # type: ignore[attr-defined]  # it has one
    assert text == "".join(PROGRAMS)
    kinds = [part.type for part in parts]
    assert kinds.index("tool_call") > kinds.index("token")
    assert stream.result.output.total == 1


async def test_a_reader_goes_on_after_each_part_of_a_stored_run() -> None:
    agent = Asked(*PROGRAMS).agent
    async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner:
        tasks = Tasks(runner)
        await (await tasks.start(agent, {"rows": []}, task_id="t")).result()
        async with tasks.stream("t") as stream:
            parts = [part async for part in stream]
        assert shape(parts) == NUMBERED
        keys = [part.key for part in parts]
        assert len(set(keys)) == len(keys)
        for place, part in enumerate(parts):
            async with tasks.stream("t", after=part.cursor) as stream:
                assert [each.key async for each in stream] == keys[place + 1 :]


async def test_the_runs_of_agents_that_a_program_asks_are_told_inside_its_calls() -> None:
    below = Agent("writer", "Write.", model=ScriptedModel(["a poem"]), description="Writes.")
    program = '(return {:total 1 :names (pmap (fn [about] (tool/writer {:request about})) ["tea" "rain"])})'
    agent = Asked('(tool/writer {:request "sun"})', program, tools=[AgentTool(below)], input=None, turns=9).agent
    async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner:
        tasks = Tasks(runner)
        await (await tasks.start(agent, "go", task_id="t")).result()
        async with tasks.stream("t") as stream:
            parts = [part async for part in stream]
    began = [(part.call_id, part.visit) for part in parts if part.type == "agent_started"]
    assert began == [
        ("program-0-0", "writer-0-0-tool"), ("program-1-0.1", "writer-1-0-tool"), ("program-1-1.2", "writer-1-1-tool"),
    ]  # fmt: skip
    assert [part.type for part in parts if part.path == ("reporter", "writer")] == ["message", "message"] * 3


async def test_the_progress_of_a_call_of_a_program_is_told() -> None:
    @tool
    async def slow(context: Any) -> str:
        """Work."""
        context.progress(1, total=2, message="half")
        return "done"

    asked = Asked("(tool/slow) (return {:total 1})", tools=[slow])
    async with asked.agent.stream({"rows": []}) as stream:
        parts = [part async for part in stream]
    kinds = [part.type for part in parts]
    assert kinds.index("tool_call") < kinds.index("progress") < kinds.index("tool_result")


@pytest.mark.parametrize("include", [True, False])
async def test_a_reader_may_leave_out_calls(include: bool) -> None:  # noqa: FBT001 - a parameter of the test
    asked = Asked(*PROGRAMS, tools=[look, send])
    async with asked.agent.stream({"rows": []}, include_tool_events=include) as stream:
        kinds = {part.type async for part in stream}
    assert ("tool_call" in kinds) is include
