"""What whoever listens hears of an answer, at each provider through the real litellm: text and arguments of calls."""

from dataclasses import replace
from typing import Any

from tests.agents._weather import look
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Call, Says
from tests.agents.providers._scenes import everywhere, run

from stagepost.agents import Agent, ModelContext, ModelRequest, ModelResponse, Token

pytestmark = everywhere()

OSLO = Call("look", {"city": "Oslo"})
FAR = Call("look", {"city": 'Llanfairpwllgwyngyll on "Anglesey" ü'})


class Listening:
    """Hears each answer of an agent's model."""

    def __init__(self) -> None:
        self.heard: list[tuple[list[Token], ModelResponse]] = []

    async def model_call(self, request: ModelRequest, _context: ModelContext, call: Any) -> ModelResponse:
        tokens: list[Token] = []
        response: ModelResponse = await call(replace(request, on_token=tokens.append))
        self.heard.append((tokens, response))
        return response


async def hear(place: Place, script: list[Any]) -> list[tuple[list[Token], ModelResponse]]:
    listening = Listening()
    await run(Agent("weather", "You know the weather.", model=place.model(script), tools=[look], hooks=[listening]))
    place.check()
    return listening.heard


def joined(tokens: list[Token], kind: str, call: int | None = None) -> str:
    return "".join(token.text for token in tokens if (token.kind, token.call) == (kind, call))


async def test_arguments_of_all_calls_are_heard(place: Place) -> None:
    (tokens, response), (later, _) = await hear(place, [[OSLO, FAR], "Fine."])
    assert [joined(tokens, "arguments", index) for index in (0, 1)] == [each.arguments for each in response.calls]
    assert {token.tool for token in tokens if token.kind == "arguments"} == {"look"}
    assert [token.number for token in tokens] == list(range(len(tokens)))
    assert (joined(later, "text"), [token for token in later if token.kind == "arguments"]) == ("Fine.", [])


async def test_text_beside_calls_is_heard_apart_from_their_arguments(place: Place) -> None:
    (tokens, response), _ = await hear(place, [Says("I look.", calls=[OSLO]), "Fine."])
    assert joined(tokens, "text") == response.text == "I look."
    assert joined(tokens, "arguments", 0) == response.calls[0].arguments
