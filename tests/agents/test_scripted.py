import pytest

from stagepost.agents import (
    AssistantMessage,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEnded,
    ScriptEntry,
    ToolCall,
    Usage,
    UserMessage,
    call,
)


def asked_after(answers: int) -> ModelRequest:
    return ModelRequest((UserMessage(text="go"), *(AssistantMessage(text="…") for _ in range(answers))))


async def test_the_entry_is_chosen_by_the_answers_in_the_request() -> None:
    model = ScriptedModel(["first", "second"])
    assert (await model.answer(asked_after(1))).text == "second"
    assert (await model.answer(asked_after(0))).text == "first"
    assert (await ScriptedModel(["first", "second"]).answer(asked_after(1))).text == "second"


async def test_calls_have_ids_that_are_the_same_in_every_process() -> None:
    script: list[ScriptEntry] = [call("look", city="Oslo"), [call("look"), call("send", to=["a"])]]
    one, two = ScriptedModel(script), ScriptedModel(script)
    for turn in (0, 1):
        assert await one.answer(asked_after(turn)) == await two.answer(asked_after(turn))
    calls = (await one.answer(asked_after(1))).calls
    assert [made.id for made in calls] == ["call-1-0", "call-1-1"]
    assert calls[1].arguments == '{"to":["a"]}'


async def test_whole_responses_and_calls_with_ids_are_given_as_they_are() -> None:
    response = ModelResponse("hi", usage=Usage(input_tokens=7))
    own = ToolCall(id="own", name="look", arguments="{oops")
    model = ScriptedModel([response, own])
    assert await model.answer(asked_after(0)) is response
    assert (await model.answer(asked_after(1))).calls == (own,)


async def test_an_error_is_raised_once_before_the_answer_behind_it() -> None:
    model = ScriptedModel(["first", OSError("down"), "second"])
    assert (await model.answer(asked_after(0))).text == "first"
    with pytest.raises(OSError, match="down"):
        await model.answer(asked_after(1))
    assert (await model.answer(asked_after(1))).text == "second"


async def test_a_script_that_has_run_out_says_so() -> None:
    model = ScriptedModel(["only", OSError("down")])
    with pytest.raises(OSError, match="down"):
        await model.answer(asked_after(1))
    with pytest.raises(ScriptEnded, match="has 1 answers") as caught:
        await model.answer(ModelRequest((*asked_after(1).messages, UserMessage(text="and?"))))
    assert (caught.value.answers, caught.value.last) == (1, "and?")


async def test_requests_are_recorded() -> None:
    model = ScriptedModel(["hi"])
    await model.answer(asked_after(0))
    assert model.requests == (asked_after(0),)
