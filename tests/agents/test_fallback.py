from typing import cast

import pytest

from stagepost.agents import (
    AllModelsFailed,
    ContentRefused,
    Fallback,
    InvalidModel,
    LiteLLM,
    Model,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
    RateLimitReached,
    ScriptedModel,
    Token,
    UserMessage,
)

ASKED = ModelRequest([UserMessage(text="go")])


def down() -> ScriptedModel:
    return ScriptedModel([ModelUnavailable("first", "refused"), "first"])


async def test_the_next_model_answers_for_one_that_cannot() -> None:
    assert (await Fallback([down(), ScriptedModel(["second"])]).answer(ASKED)).text == "second"


async def test_every_request_begins_with_the_first_model() -> None:
    model = Fallback([down(), ScriptedModel(["second"])])
    assert [(await model.answer(ASKED)).text for _ in range(2)] == ["second", "first"]


@pytest.mark.parametrize(
    "error",
    [ModelRejected("first", "no"), ContentRefused("first", "no"), ValueError("no")],
    ids=lambda e: type(e).__name__,
)
async def test_what_a_model_refuses_is_told_at_once(error: Exception) -> None:
    second = ScriptedModel(["second"])
    with pytest.raises(type(error)) as caught:
        await Fallback([ScriptedModel([error]), second]).answer(ASKED)
    assert caught.value is error
    assert second.requests == ()


async def test_when_none_answers_the_error_says_what_each_had_to_say() -> None:
    busy = ScriptedModel([RateLimitReached("second", "busy", attempt=5, retry_after=7)])
    with pytest.raises(
        AllModelsFailed, match="first: ModelUnavailable, refused; second: RateLimitReached, busy"
    ) as caught:
        await Fallback([down(), busy]).answer(ASKED)
    assert [type(error) for error in caught.value.errors] == [ModelUnavailable, RateLimitReached]
    assert (caught.value.model, caught.value.attempt, caught.value.retry_after) == ("first, second", 5, 7)


async def test_one_may_stand_in_another() -> None:
    inner = Fallback([down()])
    assert (await Fallback([inner, ScriptedModel(["outer"])]).answer(ASKED)).text == "outer"


async def test_tokens_of_the_next_model_begin_anew() -> None:
    heard: list[Token] = []

    class Breaks:
        async def answer(self, request: ModelRequest) -> None:
            await ScriptedModel(["one two"]).answer(request)
            raise ModelUnavailable("breaks", "gone")

    model = Fallback([cast("Model", Breaks()), ScriptedModel(["three"])])
    await model.answer(ModelRequest(ASKED.messages, on_token=heard.append))
    assert [(token.number, token.text) for token in heard] == [(0, "one "), (1, "two"), (0, "three")]


async def test_preparing_and_closing_reach_the_models_inside() -> None:
    done: list[str] = []

    class Opened(ScriptedModel):
        async def prepare(self) -> None:
            done.append("prepared")

        async def aclose(self) -> None:
            done.append("closed")

    model = Fallback([Fallback([Opened([])]), ScriptedModel([])])
    await model.prepare()
    await model.aclose()
    assert done == ["prepared", "closed"]


def test_names_become_models() -> None:
    (inside,) = Fallback(["openai/gpt-5-mini"])._inside
    assert isinstance(inside, LiteLLM)


def test_without_models_it_is_refused() -> None:
    with pytest.raises(InvalidModel, match="no models"):
        Fallback([])
