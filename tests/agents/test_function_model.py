import pytest

from stagepost.agents import (
    AssistantMessage,
    FunctionModel,
    ModelFunction,
    ModelRequest,
    ModelResponse,
    Token,
    UserMessage,
    call,
)

ASKED = ModelRequest([UserMessage(text="go"), AssistantMessage(text="…")])


async def later(_: ModelRequest) -> str:
    return "later"


@pytest.mark.parametrize(
    ("function", "response"),
    [
        (lambda request: request.messages[0].text, ModelResponse("go")),
        (later, ModelResponse("later")),
        (lambda _: call("look"), ModelResponse(calls=(call("look").model_copy(update={"id": "call-1-0"}),))),
        (lambda _: ModelResponse("whole"), ModelResponse("whole")),
    ],
    ids=["text", "async", "call", "response"],
)
async def test_the_function_answers(function: ModelFunction, response: ModelResponse) -> None:
    assert await FunctionModel(function).answer(ASKED) == response


async def test_its_text_can_be_listened_to() -> None:
    heard: list[Token] = []
    await FunctionModel(later).answer(ModelRequest(ASKED.messages, on_token=heard.append))
    assert heard == [Token(0, "later")]


async def test_what_it_raises_is_raised() -> None:
    def fail(_: ModelRequest) -> str:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await FunctionModel(fail).answer(ASKED)
