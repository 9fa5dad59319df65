"""What those who listen to a run are told of answers under way: each piece, whose it is, and what is void."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest
from anyio import Event, create_task_group, fail_after
from tests.agents._hearing import Hear, both_hear, hear_durably, hear_in_memory, pieces, rest, texts, turns
from tests.agents._ways import loop_of, working
from tests.agents._weather import REPORT, Report, look

from stagepost.agents import (
    Agent,
    AgentTool,
    ClearResults,
    ContextPolicy,
    Fallback,
    FunctionModel,
    LiteLLM,
    ModelContext,
    ModelRequest,
    ModelResponse,
    RateLimited,
    Retries,
    ScriptedModel,
    Token,
    ToolCall,
    call,
    handoff,
)
from stagepost.agents._live._told import Piece, TurnBegun
from stagepost.agents._models._model import TokenKind
from stagepost.agents.errors import ContextTooLong, ModelUnavailable
from stagepost.agents.testing import Cut, LocalServer
from stagepost.workflows import MemoryRoom, Told


def weather(*script: Any, **options: Any) -> Agent[Any]:
    return Agent("weather", "", model=ScriptedModel(script), tools=[look], **options)


@both_hear
async def test_each_turn_is_told_before_its_pieces(hear: Hear) -> None:
    told = await hear(weather(ModelResponse("I look.", [call("look", city="Oslo")]), "3 degrees."))
    whats = [each.what for each in told]
    assert whats == [
        TurnBegun("weather", ("weather",), 0),
        Piece("weather", ("weather",), 0, 0, "I ", "text"),
        Piece("weather", ("weather",), 0, 1, "look.", "text"),
        Piece("weather", ("weather",), 0, 2, '{"city":', "arguments", "look", 0),
        Piece("weather", ("weather",), 0, 3, '"Oslo"}', "arguments", "look", 0),
        TurnBegun("weather", ("weather",), 1),
        Piece("weather", ("weather",), 1, 0, "3 ", "text"),
        Piece("weather", ("weather",), 1, 1, "degrees.", "text"),
    ]


@both_hear
async def test_the_arguments_of_a_typed_answer_are_told(hear: Hear) -> None:
    told = await hear(
        Agent("weather", "", model=ScriptedModel([call("return", city="Oslo", degrees=3)]), output=Report)
    )
    arguments = pieces(told, kind="arguments", tool="return", call=0)
    assert Report.model_validate_json("".join(piece.text for piece in arguments)) == Report.model_validate_json(REPORT)


async def test_nothing_is_streamed_while_nobody_listens() -> None:
    model = ScriptedModel([call("look", city="Oslo"), "3 degrees."])
    await Agent("weather", "", model=model, tools=[look]).run("go")
    assert [request.on_token for request in model.requests] == [None, None]


class Unsteady:
    """Tells a piece, and is not available; the next time it answers."""

    def __init__(self) -> None:
        self.asked = 0

    async def answer(self, request: ModelRequest) -> ModelResponse:
        self.asked += 1
        if request.on_token is not None:
            request.on_token(Token(0, f"try {self.asked}"))
            request.on_token(Token(1, " comes"))
        if self.asked == 1:
            raise ModelUnavailable("unsteady", "gone")
        return ModelResponse(f"try {self.asked} comes")


@both_hear
async def test_what_another_model_says_makes_what_came_before_void(hear: Hear) -> None:
    told = await hear(Agent("weather", "", model=Fallback([Unsteady(), RateLimited(ScriptedModel(["fine"]))])))
    assert [(piece.number, piece.text) for piece in pieces(told)] == [(0, "try 1"), (1, " comes"), (0, "fine")]
    assert turns(told) == [("weather", 0)]


class Twice:
    """Asks the model twice."""

    async def model_call(self, request: ModelRequest, _context: ModelContext, call: Any) -> ModelResponse:
        await call(request)
        answer: ModelResponse = await call(request)
        return answer


@both_hear
async def test_of_a_hook_that_asks_twice_the_second_answer_counts(hear: Hear) -> None:
    told = await hear(weather("It is fine.", hooks=[Twice()]))
    assert [piece.number for piece in pieces(told)] == [0, 1, 2, 0, 1, 2]
    assert texts(told) == ["It is fine."] * 2
    assert turns(told) == [("weather", 0)]


class Racing:
    """Asks the model twice at once; the first answer is slower."""

    def __init__(self) -> None:
        self.second_has_begun = Event()

    async def model_call(self, request: ModelRequest, _context: ModelContext, call: Any) -> ModelResponse:
        answers: list[ModelResponse] = []

        async def ask(said: str) -> None:
            answers.append(await call(replace(request, messages=[*request.messages[:-1], say(said)])))

        def say(said: str) -> Any:
            return request.messages[-1].model_copy(update={"text": said})

        async with create_task_group() as group:
            group.start_soon(ask, "slow")
            group.start_soon(ask, "quick")
        return answers[0]


@both_hear
async def test_of_two_answers_at_once_only_the_later_one_is_told(hear: Hear) -> None:
    quick, slow = Event(), Event()

    class Model:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            assert request.on_token is not None
            name = request.messages[-1].text
            if name == "quick":
                await slow.wait()
            request.on_token(Token(0, f"{name} "))
            slow.set()
            if name == "slow":
                await quick.wait()
            request.on_token(Token(1, name))
            quick.set()
            return ModelResponse(f"{name} {name}")

    told = await hear(Agent("weather", "", model=Model(), hooks=[Racing()]))
    assert [(piece.number, piece.text) for piece in pieces(told)] == [(0, "slow "), (0, "quick "), (1, "quick")]


class Cache:
    """Answers by itself, with what it has."""

    async def model_call(self, _request: ModelRequest, _context: ModelContext, _call: Any) -> ModelResponse:
        return ModelResponse("cached")


@both_hear
async def test_what_a_hook_answers_by_itself_is_not_told_in_pieces(hear: Hear) -> None:
    told = await hear(weather(hooks=[Cache()]))
    assert [each.what for each in told] == [TurnBegun("weather", ("weather",), 0)]


class Own:
    """Listens to the answers itself.

    Args:
        fails: Whether it raises.
    """

    def __init__(self, *, fails: bool = False) -> None:
        self.tokens: list[Token] = []
        self.seen: list[object] = []
        self._fails = fails

    async def model_call(self, request: ModelRequest, _context: ModelContext, call: Any) -> ModelResponse:
        self.seen.append(request.on_token)
        answer: ModelResponse = await call(replace(request, on_token=self._take))
        return answer

    def _take(self, token: Token) -> None:
        self.tokens.append(token)
        if self._fails:
            raise RuntimeError("not listening")


@both_hear
async def test_a_hook_that_listens_hears_as_before_and_nobody_else_hears_less(hear: Hear) -> None:
    own = Own()
    told = await hear(weather("It is fine.", hooks=[own]))
    assert [token.text for token in own.tokens] == ["It ", "is ", "fine."]
    assert texts(told) == ["It is fine."]
    assert own.seen == [None]


@both_hear
async def test_a_hook_that_fails_to_listen_takes_nothing_away(hear: Hear) -> None:
    own = Own(fails=True)
    told = await hear(weather("It is fine.", hooks=[own]))
    assert [token.text for token in own.tokens] == ["It "]
    assert texts(told) == ["It is fine."]


@both_hear
async def test_a_turn_that_is_asked_again_with_less_begins_once(hear: Hear) -> None:
    refused: list[int] = []

    def scripted(request: ModelRequest) -> Any:
        if request.answers < 6:
            return call("look", city="Oslo")
        if not refused:
            refused.append(1)
            raise ContextTooLong("m", "too long", status=400)
        return "Fine."

    policy = ContextPolicy(compact=[ClearResults(keep=1)])
    told = await hear(Agent("weather", "", model=FunctionModel(scripted), tools=[look], context=policy))
    assert refused
    assert turns(told) == [("weather", turn) for turn in range(7)]
    assert texts(told) == ["Fine."]


@both_hear
async def test_agents_below_are_told_with_their_paths(hear: Hear) -> None:
    deep = Agent("deep", "Knows the sea.", model=ScriptedModel(["It is deep."]))
    high = Agent("high", "Knows the sky.", model=ScriptedModel(["It is high."]))
    script: list[Any] = [
        [call("ask_deep", request="?"), call("message_agent", agent_name="high", message="?")],
        "Both.",
    ]
    told = await hear(
        Agent("lead", "", model=ScriptedModel(script), tools=[AgentTool(deep, name="ask_deep")], sub_agents=[high])
    )
    for name, text in (("deep", "It is deep."), ("high", "It is high.")):
        assert texts(told, agent=name) == [text]
        assert {piece.path for piece in pieces(told, agent=name)} == {("lead", name)}
    assert texts(told, agent="lead") == ["Both."]
    assert {piece.path for piece in pieces(told, agent="lead")} == {("lead",)}
    (root,) = {each.run_id for each in told if isinstance(each.what, Piece) and each.what.agent == "lead"}
    below = {each.run_id for each in told if isinstance(each.what, Piece) and each.what.agent != "lead"}
    assert len(below) == 2
    assert all(run_id.startswith(f"{root}.") for run_id in below)


@both_hear
async def test_after_a_handoff_the_agent_that_has_the_run_is_told(hear: Hear) -> None:
    refunds = Agent("refunds", "", model=ScriptedModel([call("x"), "Paid."]))
    triage = Agent("triage", "", model=ScriptedModel([call("transfer_to_refunds")]), tools=[handoff(refunds)])
    told = await hear(triage)
    assert turns(told) == [("triage", 0), ("refunds", 1)]
    assert [(piece.agent, piece.path, piece.turn) for piece in pieces(told, kind="text")] == [
        ("refunds", ("refunds",), 1)
    ]


KEY = "sk-9f3bQ7xZ01uA4c8e"


class Letters:
    """Answers letter by letter."""

    def __init__(self, text: str, thinking: str = "", *calls: ToolCall) -> None:
        self._response = ModelResponse(text, calls, thinking=thinking)

    async def answer(self, request: ModelRequest) -> ModelResponse:
        if request.answers:
            return ModelResponse("Done.")
        if request.on_token is not None:
            for number, (letter, kind, index) in enumerate(self._letters()):
                tool = None if index is None else self._response.calls[index].name
                request.on_token(Token(number, letter, kind, tool, index))
        return self._response

    def _letters(self) -> Iterator[tuple[str, TokenKind, int | None]]:
        yield from ((letter, "thinking", None) for letter in self._response.thinking)
        yield from ((letter, "text", None) for letter in self._response.text)
        for index, made in enumerate(self._response.calls):
            yield from ((letter, "arguments", index) for letter in made.arguments)


@both_hear
async def test_no_piece_shows_a_secret_however_it_is_cut(hear: Hear) -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    arguments = f'{{"city": "Oslo\\n{escaped}"}}'
    model = Letters(f"It is {KEY}.", f"Is it {KEY}?", ToolCall(id="c", name="look", arguments=arguments))
    told = await hear(Agent("weather", "", model=model, tools=[look]), secrets={"key": KEY})
    first = pieces(told, turn=0)
    assert [piece.number for piece in first] == list(range(len(first)))
    said = {kind: "".join(piece.text for piece in first if piece.kind == kind) for kind in ("text", "thinking")}
    assert said == {"text": "It is ***.", "thinking": "Is it ***?"}
    assert "".join(piece.text for piece in first if piece.call == 0) == '{"city": "Oslo\\n***"}'
    assert len(first) > 20


@both_hear
async def test_what_was_held_back_of_an_answer_that_starts_again_is_void(hear: Hear) -> None:
    class Model:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            for number, text in enumerate(["It is ", KEY[:8]]):
                request.on_token(Token(number, text))  # type: ignore[misc]  # somebody listens
            for number, text in enumerate(["It is ", KEY[8:]]):
                request.on_token(Token(number, text))  # type: ignore[misc]
            return ModelResponse(f"It is {KEY[8:]}")

    told = await hear(Agent("weather", "", model=Model()), secrets={"key": KEY})
    assert texts(told)[-1] == f"It is {KEY[8:]}"


async def test_whether_anybody_is_told_is_decided_when_the_model_is_asked() -> None:
    asked, go_on = [Event(), Event(), Event()], [Event(), Event(), Event()]
    streamed: list[bool] = []

    class Model:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            turn = request.answers
            streamed.append(request.on_token is not None)
            if request.on_token is not None:
                request.on_token(Token(0, "begun "))
            asked[turn].set()
            await go_on[turn].wait()
            if request.on_token is not None:
                request.on_token(Token(1, "ended"))
            calls = [call("look", city="Oslo")] if turn < 2 else []
            return ModelResponse("begun ended", calls)

    agent = Agent("weather", "", model=Model(), tools=[look])
    async with working(agent) as runner, AsyncExitStack() as visits:
        loop = loop_of(agent)
        run = await runner.start(loop, loop.accept("go"), run_id="r")
        await asked[0].wait()  # nobody listens: this turn is not streamed, although somebody comes meanwhile
        with runner.listen("r") as listening:
            go_on[0].set()
            await asked[1].wait()
            first = await rest(listening)
            visits.enter_context(late := runner.listen("r"))  # in the middle of the answer
        go_on[1].set()
        await asked[2].wait()
        second = await rest(late)
        go_on[2].set()
        await run.result()
    assert streamed == [False, True, True]
    assert [(piece.turn, piece.number, piece.text) for piece in pieces(first)] == [(1, 0, "begun ")]
    assert [(piece.turn, piece.text) for piece in pieces(second, turn=1)] == [(1, "begun "), (1, "ended")]


def test_pieces_that_belong_together_become_one_for_who_comes_late() -> None:
    first = Piece("a", ("a",), 0, 0, "It ", "text")
    more = replace(first, number=1, text="is.")
    assert first.grown(more) == replace(first, text="It is.", pieces=2)
    assert replace(first, text="It is.", pieces=2).grown(more) is None
    assert first.grown(replace(more, number=0)) == replace(more, number=0)
    assert first.grown(replace(more, kind="thinking")) is None
    assert first.grown(replace(more, turn=1, number=0)) is None
    assert first.grown(TurnBegun("a", ("a",), 1)) is None
    assert (
        replace(first, kind="arguments", tool="x", call=0).grown(replace(more, kind="arguments", tool="x", call=1))
        is None
    )


async def test_a_piece_is_there_for_listeners_before_the_model_goes_on() -> None:
    room, waiting = MemoryRoom(), list[Told]()

    class Model:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            request.on_token(Token(0, "Fine."))  # type: ignore[misc]  # somebody listens
            waiting.extend(await rest(listening))
            return ModelResponse("Fine.")

    loop = loop_of(Agent("weather", "", model=Model()))
    with fail_after(10), room.listen() as listening:
        await loop.run(loop.accept("go"), room=room)
    assert texts(waiting) == ["Fine."]


@pytest.mark.skipif(find_spec("litellm") is None, reason="needs litellm: pip install 'stagepost[llm]'")
@pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier", "ignore::DeprecationWarning")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("hear", [hear_in_memory, hear_durably])
async def test_what_came_of_a_stream_that_was_cut_is_void(hear: Hear) -> None:
    script: list[Any] = [Cut(after=4), call("look", city="Trondheim"), Cut(after=3, clean=True), "Two boats are there."]
    retries = Retries(attempts=3, first=0, most=0, jitter=0)
    async with (
        LocalServer(script) as server,
        LiteLLM("openai/local", api_base=server.url, api_key="none", retries=retries) as model,
    ):
        told = await hear(Agent("weather", "", model=model, tools=[look]))
    begun = [place for place, piece in enumerate(pieces(told)) if piece.number == 0]
    assert len(begun) == 4
    arguments = pieces(told)[begun[1] : begun[2]]
    assert "".join(piece.text for piece in arguments) == '{"city":"Trondheim"}'
    assert len(arguments) > 1
    assert texts(told)[-1] == "Two boats are there."
    assert turns(told) == [("weather", 0), ("weather", 1)]
