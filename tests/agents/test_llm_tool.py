import pytest
from pydantic import BaseModel

from stagepost.agents import (
    InvalidAgent,
    InvalidTool,
    LLMTool,
    ModelMissing,
    ScriptedModel,
    SystemMessage,
    ToolContext,
    UserMessage,
)
from stagepost.agents._delegation._delegate_tool import DelegateTool
from stagepost.agents._models._model import Model
from stagepost.agents._tools._arguments import InvalidArguments
from stagepost.agents._tools._invoking import ToolResult, invoke


class Mood(BaseModel):
    mood: str


def context(model: Model | None = None) -> ToolContext:
    return ToolContext(run_id="run", agent="a", call_id="c", idempotency_key="k", deps=None, model=model)


async def use(made: LLMTool, arguments: str, model: Model | None = None) -> ToolResult:
    return await invoke(made, made.parse(arguments), context(model))


async def test_a_prompts_placeholders_are_parameters_and_its_answer_is_the_result() -> None:
    model = ScriptedModel(["kurz"])
    made = LLMTool("shorten", "Shorten to {words} words: {text}", model=model)
    assert await use(made, '{"words": "2", "text": "long {words}"}') == ("kurz", False, ())
    assert model.requests[0].messages[-1] == UserMessage(text="Shorten to 2 words: long {words}")
    assert isinstance(model.requests[0].messages[0], SystemMessage)
    assert made.idempotent
    assert made.takes_context


def test_the_calling_model_sees_texts_to_give_and_the_prompt() -> None:
    schema = LLMTool("shorten", "Shorten: {text}").schema
    assert schema.description == "Shorten: {text}"
    assert schema.parameters == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }
    assert LLMTool("shorten", "Shorten: {text}", description="Make it short.").description == "Make it short."


def test_it_is_data_for_whoever_runs_the_calling_agent() -> None:
    made = LLMTool("shorten", "Shorten to {words} words: {text}", model="openai/gpt-5-mini", output=Mood)
    assert isinstance(made, DelegateTool)
    assert (made.agent.name, made.agent.model, made.agent.output) == ("shorten", "openai/gpt-5-mini", Mood)
    assert (made.model, made.retries, made.agent.budget.turns) == (None, None, 3)
    assert made.request(made.parse('{"words": "2", "text": "{words}"}')) == "Shorten to 2 words: {words}"


async def test_it_can_be_called_without_any_agent() -> None:
    made = LLMTool("shorten", "Shorten: {text}", model=ScriptedModel(["kurz"]))
    assert await made(text="long", context=context()) == "kurz"  # type: ignore[misc]  # of any tool only a call is known


async def test_an_output_is_checked_and_corrected() -> None:
    model = ScriptedModel(["sad", '{"mood": "sad"}'])
    assert await use(LLMTool("feel", "Which mood has {text}?", model=model, output=Mood), '{"text": "x"}') == (
        '{"mood":"sad"}',
        False,
        (),
    )


async def test_an_answer_that_never_fits_is_an_error() -> None:
    made = LLMTool("feel", "{text}?", model=ScriptedModel(["sad"] * 9), output=Mood)
    told = await use(made, '{"text": "x"}')
    assert told.is_error
    assert told.text.startswith("BudgetExceeded")


async def test_the_model_of_the_calling_agent_is_asked_unless_it_has_one() -> None:
    assert (await use(LLMTool("say", "{text}"), '{"text": "x"}', ScriptedModel(["callers"]))).text == "callers"
    own = LLMTool("say", "{text}", model=ScriptedModel(["own"]))
    assert (await use(own, '{"text": "x"}', ScriptedModel(["callers"]))).text == "own"


async def test_no_model_anywhere_is_told() -> None:
    told = await use(LLMTool("say", "{text}"), '{"text": "x"}')
    assert told.is_error
    assert told.text.startswith(ModelMissing.__name__)


@pytest.mark.parametrize("arguments", ["{}", '{"text": 3}', '{"text": "x", "more": "y"}'])
def test_arguments_that_do_not_fit_are_refused(arguments: str) -> None:
    with pytest.raises(InvalidArguments):
        LLMTool("say", "{text}").parse(arguments)


@pytest.mark.parametrize(
    ("prompt", "why"),
    [("Tell a joke.", "takes nothing"), ("Say {context}.", "rename it")],
    ids=["no placeholder", "the context"],
)
def test_a_prompt_that_cannot_be_a_tool_is_refused(prompt: str, why: str) -> None:
    with pytest.raises(InvalidTool, match=why):
        LLMTool("say", prompt)


def test_an_output_that_is_no_type_is_refused() -> None:
    with pytest.raises(InvalidAgent, match="is not a type"):
        LLMTool("say", "{text}", output=Mood(mood="sad"))


def test_a_limit_of_time_and_a_mark_are_those_of_any_tool() -> None:
    made = LLMTool("say", "{text}", timeout=3, needs_approval=True)
    assert (made.timeout, made.needs_approval) == (3, True)
