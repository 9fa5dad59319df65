import logging

import pytest

from stagepost.agents import ModelRequest, ScriptedModel, Token, UserMessage

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
