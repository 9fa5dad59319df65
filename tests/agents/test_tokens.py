import logging

import pytest

from stagepost.agents import FunctionModel, ModelRequest, ModelResponse, ScriptedModel, Token, UserMessage

ASKED = (UserMessage(text="go"),)


async def test_a_listener_gets_numbered_pieces_that_make_the_text() -> None:
    heard: list[Token] = []
    response = await ScriptedModel(["it is  fine"]).answer(ModelRequest(ASKED, on_token=heard.append))
    assert [token.number for token in heard] == [0, 1, 2]
    assert "".join(token.text for token in heard) == response.text


async def test_a_listener_that_raises_is_logged_and_hears_no_more(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Token] = []

    def listen(token: Token) -> None:
        heard.append(token)
        raise LookupError("gone")

    with caplog.at_level(logging.WARNING, "stagepost"):
        response = await ScriptedModel(["it is fine"]).answer(ModelRequest(ASKED, on_token=listen))
    assert response.text == "it is fine"
    assert len(heard) == 1
    assert len(caplog.records) == 1


def test_who_listens_is_no_part_of_the_request() -> None:
    assert ModelRequest(ASKED, on_token=print) == ModelRequest(ASKED)
    assert "print" not in repr(ModelRequest(ASKED, on_token=print))


async def test_thinking_comes_before_the_text_and_says_what_it_is() -> None:
    response = ModelResponse("it is fine", thinking="may it rain?")
    for model in (ScriptedModel([response]), FunctionModel(lambda _: response)):
        heard: list[Token] = []
        assert await model.answer(ModelRequest(ASKED, on_token=heard.append)) == response
        assert [token.number for token in heard] == list(range(6))
        assert "".join(token.text for token in heard if token.kind == "thinking") == response.thinking
        assert "".join(token.text for token in heard if token.kind == "text") == response.text
