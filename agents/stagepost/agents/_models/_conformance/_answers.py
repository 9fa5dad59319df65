"""What every model promises of its answers, doubles included."""

from typing import Final

import anyio
from anyio import create_task_group, fail_after
from pydantic_core import from_json

from .._messages import ChatMessage, ToolCall, ToolMessage, Usage, UserMessage
from .._model import Model, ModelRequest, ModelResponse, Token
from .._scripted import call
from ._words import LOOK, PATIENCE, ModelCheck, Opened, asks, equal, said

_TEXT: Final = "Two boats, and a lighthouse: «fyr» 🗼."


async def check_a_text_is_answered_as_it_is(opened: Opened) -> None:
    """Whatever characters are in it; there are no calls beside it."""
    async with opened([_TEXT]) as model:
        response = await _answer(model, asks())
    equal((response.text, list(response.calls), response.is_final), (_TEXT, [], True))


async def check_calls_have_names_arguments_and_ids_of_their_own(opened: Opened) -> None:
    """Several in one answer keep their order; their arguments are the text of JSON."""
    async with opened([[call("look", place="Oslo"), call("look", place="Å")]]) as model:
        calls = (await _answer(model, asks(tools=[LOOK]))).calls
    equal([(each.name, from_json(each.arguments)) for each in calls], [("look", {"place": p}) for p in ("Oslo", "Å")])
    equal(len({each.id for each in calls if each.id}), 2)


async def check_a_text_may_stand_beside_calls(opened: Opened) -> None:
    """Neither is lost."""
    looked = ToolCall(id="c1", name="look", arguments='{"place": "Oslo"}')
    async with opened([ModelResponse("I look.", (looked,))]) as model:
        response = await _answer(model, asks(tools=[LOOK]))
    equal((response.text, [each.name for each in response.calls]), ("I look.", ["look"]))


async def check_a_conversation_goes_on_with_what_was_said(opened: Opened) -> None:
    """Results of tools, errors among them, and further questions are taken; the answer is that of the turn."""
    async with opened([[call("look", place="Oslo"), call("look", place="?")], "Boats.", "No."]) as model:
        first = await _answer(model, asks(tools=[LOOK]))
        results: list[ChatMessage] = [
            ToolMessage(call_id=first.calls[0].id, tool="look", text='{"boats": 2}'),
            ToolMessage(call_id=first.calls[1].id, tool="look", text="there is no such place", is_error=True),
        ]
        history: list[ChatMessage] = [said(first), *results]
        second = await _answer(model, asks(*history, tools=[LOOK]))
        third = await _answer(model, asks(*history, said(second), UserMessage(text="Ships?")))
    equal((second.text, third.text), ("Boats.", "No."))


async def check_what_is_asked_again_is_answered_again(opened: Opened) -> None:
    """It does not count requests: another conversation may begin, or one go on after a crash, at any turn."""
    async with opened(["one", "two"]) as model:
        first = await _answer(model, asks())
        later = asks(said(first), UserMessage(text="And then?"))
        second = await _answer(model, later)
        again = [(await _answer(model, request)).text for request in (asks(), later, later)]
    equal([first.text, second.text, *again], ["one", "two", "one", "two", "two"])


async def check_it_is_asked_by_several_at_once(opened: Opened) -> None:
    """Each gets the answer to its own question."""
    async with opened(["one", "two"]) as model:
        first = said(await _answer(model, asks()))
        found: dict[int, str] = {}

        async def ask(number: int) -> None:
            history = (first, UserMessage(text="And then?")) if number % 2 else ()
            found[number] = (await _answer(model, asks(*history))).text

        async with create_task_group() as group:
            for number in range(4):
                group.start_soon(ask, number)
    equal(found, {0: "one", 1: "two", 2: "one", 3: "two"})


async def check_who_listens_hears_the_whole_text_in_pieces(opened: Opened) -> None:
    """The pieces are numbered from 0 without a gap, and the answer is the same as without a listener."""
    tokens: list[Token] = []
    async with opened([_TEXT]) as model:
        heard, alone = await _answer(model, asks(tokens=tokens)), await _answer(model, asks())
    equal("".join(token.text for token in tokens if token.kind == "text"), _TEXT)
    equal([token.number for token in tokens], list(range(len(tokens))))
    equal((heard.text, list(heard.calls)), (alone.text, list(alone.calls)))


async def check_calls_are_whole_where_somebody_listens(opened: Opened) -> None:
    """Streamed or not, their arguments are the same."""
    async with opened([[call("look", place="A place with a long name"), call("look", place="Oslo")]]) as model:
        calls = (await _answer(model, asks(tools=[LOOK], tokens=[]))).calls
    equal([from_json(each.arguments)["place"] for each in calls], ["A place with a long name", "Oslo"])


async def check_who_listens_hears_the_arguments_of_calls(opened: Opened) -> None:
    """Those that come in pieces come whole, with the name of the tool and the index of the call."""
    places = ("A place with a long name: «Å»", "Oslo")
    tokens: list[Token] = []
    async with opened([ModelResponse("I look.", [call("look", place=place) for place in places])]) as model:
        calls = (await _answer(model, asks(tools=[LOOK], tokens=tokens))).calls
    pieces = [token for token in tokens if token.kind == "arguments"]
    heard = {index: "".join(each.text for each in pieces if each.call == index) for index in range(len(calls))}
    if pieces:
        equal(heard, {index: each.arguments for index, each in enumerate(calls)})
        equal({token.tool for token in pieces}, {"look"})
    equal("".join(token.text for token in tokens if token.kind == "text"), "I look.")
    equal([(token.tool, token.call) for token in tokens if token.kind == "text"][:1], [(None, None)])
    equal([token.number for token in tokens], list(range(len(tokens))))


async def check_a_listener_that_fails_loses_no_answer(opened: Opened) -> None:
    """It gets nothing more, and whoever asked gets all."""

    def breaks(_token: Token) -> None:
        raise RuntimeError("nobody is listening")

    async with opened([_TEXT]) as model:
        response = await _answer(model, ModelRequest(asks().messages, on_token=breaks))
    equal(response.text, _TEXT)


async def check_tokens_are_counted(opened: Opened) -> None:
    """What the provider has counted is told, streamed or not."""
    counted = Usage(input_tokens=12, output_tokens=3)
    async with opened([ModelResponse("Boats.", usage=counted)]) as model:
        usages = [(await _answer(model, request)).usage for request in (asks(), asks(tokens=[]))]
    equal([(usage.input_tokens, usage.output_tokens) for usage in usages], [(12, 3), (12, 3)])


async def check_whoever_is_cancelled_gets_no_answer(opened: Opened) -> None:
    """Asking is a point of cancellation, and the model can be asked again."""
    async with opened(["one"]) as model:
        await _answer(model, asks())
        with anyio.CancelScope() as scope:
            scope.cancel()
            await model.answer(asks())
        equal(scope.cancelled_caught, True)
        equal((await _answer(model, asks())).text, "one")


async def _answer(model: Model, request: ModelRequest) -> ModelResponse:
    with fail_after(PATIENCE):
        return await model.answer(request)


CHECKS: Final[tuple[ModelCheck, ...]] = (
    check_a_text_is_answered_as_it_is,
    check_calls_have_names_arguments_and_ids_of_their_own,
    check_a_text_may_stand_beside_calls,
    check_a_conversation_goes_on_with_what_was_said,
    check_what_is_asked_again_is_answered_again,
    check_it_is_asked_by_several_at_once,
    check_who_listens_hears_the_whole_text_in_pieces,
    check_calls_are_whole_where_somebody_listens,
    check_who_listens_hears_the_arguments_of_calls,
    check_a_listener_that_fails_loses_no_answer,
    check_tokens_are_counted,
    check_whoever_is_cancelled_gets_no_answer,
)
