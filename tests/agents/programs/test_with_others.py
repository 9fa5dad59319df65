"""Programs together with what other parts of agents do: previews, policies, hooks, messages on the way, validation."""

from typing import Any

import pytest
from tests.agents.programs._orders import ROWS, Asked, Orders, Report, look

from stagepost.agents import (
    Agent,
    AgentTool,
    ContextPolicy,
    InvalidRequest,
    KeepLast,
    ModelResponse,
    PromptContext,
    ScriptedModel,
    Tasks,
    ToolCall,
    ToolClash,
    Toolset,
    converse,
    tool,
)
from stagepost.checkpoint import MemoryStore
from stagepost.programs import PtcLisp, Validation
from stagepost.workflows import Runner

DONE = "(return {:total 1})"


def test_a_preview_is_what_the_model_is_sent_first() -> None:
    asked = Asked(DONE)
    shown = asked.agent.preview({"rows": ROWS})
    assert shown.user == "Inputs: data/rows"
    assert shown.system.startswith("Report.\n\n## How you work")
    assert "tool/look(id :int) -> :map  ; Look an order up." in shown.system
    with pytest.raises(InvalidRequest):
        asked.agent.preview(7)


async def test_the_preview_is_exact() -> None:
    below = Agent("writer", "Write.", model=ScriptedModel(["a poem"]), description="Writes.")
    asked = Asked(DONE, tools=[look, AgentTool(below)], sub_agents=[below])
    await asked.run()
    assert asked.prompts == [asked.agent.preview({"rows": ROWS}).system]


def test_other_agents_have_a_preview_too() -> None:
    plain = Agent("a", "Sum {rows}.", input=Orders, output=Report, output_mode="prompted")
    shown = plain.preview(Orders(rows=[{"n": 1}]))
    assert shown.system.startswith('Sum [{"n":1}].\n\nGive your final answer as JSON')
    assert shown.user == '{"rows":[{"n":1}]}'

    def prompt(context: PromptContext) -> str:
        return context.agent

    assert Agent("a", prompt).preview("hi").system.startswith("<test_other_agents")
    assert "<test_other_agents" in Agent("a", prompt, programs=PtcLisp()).preview("hi").system


async def test_the_prompt_may_be_a_function_and_inputs_fill_it() -> None:
    asked = Asked(DONE, input=None, prompt=lambda context: f"I am {context.agent}.")
    await asked.agent.run("go")
    assert asked.prompts[0].startswith("I am reporter.\n\n## How you work")
    asked = Asked(DONE, prompt="Report on {rows}.")
    await asked.run([{"n": 1}])
    assert asked.prompts[0].startswith('Report on [{"n":1}].')


async def test_a_policy_hides_old_turns_and_never_half_of_one() -> None:
    programs = [f"(println {n} (:name (tool/look {{:id {n}}})))" for n in range(8)]
    asked = Asked(*programs, DONE, turns=20, context=ContextPolicy(messages=5, compact=[KeepLast(turns=2)]))
    result = await asked.run()
    for request in asked.model.requests:
        roles = [message.role for message in request.messages[1:]]
        assert "tool" not in roles
        assert len(roles) <= 7
    assert "7 n7" in asked.told[-1]
    assert sum(message.role == "tool" for message in result.messages) == 8


async def test_hooks_are_around_calls_of_programs() -> None:
    class Shouting:
        async def tool_call(self, call: ToolCall, context: Any, proceed: Any) -> Any:
            result = await proceed(call)
            assert context.agent == "reporter"
            return result._replace(text=result.text.upper())

    @tool
    async def say(text: str) -> str:
        """Say."""
        return text

    asked = Asked('(return {:total 1 :names [(tool/say {:text "a"})]})', tools=[say], hooks=[Shouting()])
    assert (await asked.run()).output.names == ["A"]


async def test_calls_that_a_model_makes_by_itself_are_not_made() -> None:
    asked = Asked(ModelResponse("", calls=(ToolCall(id="1", name="look", arguments='{"id":1}'),)), DONE)
    result = await asked.run()
    assert not any(message.role == "tool" for message in result.messages)
    assert "no_code_found" in asked.told[0]


async def test_an_answer_that_is_not_whole_is_gone_on_with() -> None:
    asked = Asked(ModelResponse("(return", is_final=False), DONE)
    assert (await asked.run()).turns == 2
    assert asked.model.requests[1].messages[-1].role == "assistant"


@pytest.mark.parametrize(
    ("mode", "value", "total"),
    [
        (Validation.STRICT, "{:total 1 :more 2}", None),
        (Validation.ENABLED, "{:total 1 :more 2}", 1),
        (Validation.ENABLED, '{:total "1"}', None),
        (Validation.WARN, '{:total "1"}', 1),
        (Validation.OFF, '{:total "1"}', 1),
        (Validation.OFF, '{:total "x"}', None),
    ],
)
async def test_values_are_checked_as_the_mode_says(mode: Validation, value: str, total: int | None) -> None:
    asked = Asked(f"(return {value})", "(return {:total 99})", programs=PtcLisp(validation=mode))
    assert (await asked.run()).output.total == (total or 99)


async def test_a_type_without_a_form_in_signatures_is_checked_by_pydantic() -> None:
    asked = Asked('(return "x")', "(return [1 2])", output=int | list[int], input=None)
    assert (await asked.agent.run("go")).output == [1, 2]
    assert "the returned value is not a valid int or list[int]" in asked.told[0]
    assert "Expected: a value whose JSON fits this schema: {" in asked.prompts[0]


async def test_a_message_on_the_way_is_heard_before_the_result() -> None:
    sent: list[int] = []

    @tool
    async def wait() -> str:
        """Wait."""
        await tasks.tell("t", "Count twice, please.")
        sent.append(1)
        return "ok"

    asked = Asked("(tool/wait) (return {:total 1})", "(return {:total 2})", tools=[wait])
    async with MemoryStore() as store, Runner(store, workflows=[asked.agent]) as runner:
        tasks = Tasks(runner)
        output = (await (await tasks.start(asked.agent, {"rows": []}, task_id="t")).result())["output"]
    assert (output.total, sent) == (2, [1])
    assert asked.told == ["Count twice, please."]


async def test_tools_of_toolsets_are_found_again_in_another_turn() -> None:
    class Growing(Toolset):
        name = "growing"

        async def tools(self, context: Any) -> Any:
            @tool(name=f"n{context.turn}")
            async def number() -> int:
                """Give a number."""
                return int(context.turn)

            return [number]

    asked = Asked("(def a (tool/n1))", "(return {:total (+ a (tool/n2))})", tools=[Growing()])
    assert (await asked.run()).output.total == 3
    assert ["tool/n1()" in asked.prompts[0], "tool/n1()" in asked.prompts[1]] == [True, False]


async def test_a_tool_of_a_toolset_with_the_name_of_an_input_is_refused_when_it_is_found() -> None:
    class Late(Toolset):
        name = "late"

        async def tools(self, context: Any) -> Any:
            @tool
            async def rows() -> int:
                """Give rows."""
                return context.turn  # type: ignore[no-any-return]  # a number

            return [rows]

    asked = Asked(DONE, tools=[Late()])
    with pytest.raises(ToolClash, match="an input of the agent's programs, and a tool of toolset 'late'"):
        await asked.run()
    assert not asked.model.requests


async def test_a_conversation_with_a_person_keeps_memory() -> None:
    agent = Asked("(def n 41) (return n)", "(return (inc n))", input=None, output=int).agent
    async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner, converse(runner, agent) as talk:
        assert [(await talk.send("one")).output, (await talk.send("two")).output] == [41, 42]
