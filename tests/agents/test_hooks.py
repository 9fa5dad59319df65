import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from tests.agents._weather import results

from stagepost.agents import (
    Agent,
    InvalidHook,
    ModelContext,
    ModelHook,
    ModelRequest,
    ModelResponse,
    ModelUnavailable,
    ScriptedModel,
    ToolCall,
    ToolContext,
    ToolHook,
    ToolResult,
    UserMessage,
    call,
    tool,
)
from stagepost.agents._definition._hooks import model_chain, tool_chain

Ask: TypeAlias = Callable[[ModelRequest], Awaitable[ModelResponse]]
Proceed: TypeAlias = Callable[[ToolCall], Awaitable[ToolResult]]

CONTEXT = ToolContext(run_id="r", agent="lead", call_id="c", idempotency_key="r/0-0", deps="deps")
PLACE = ModelContext(run_id="r", agent="lead", path=("lead",), turn=1, deps="deps")
REQUEST = ModelRequest([UserMessage(text="Hi")])
SEND = call("send", to="Ada")


class Named:
    """A hook of both kinds that writes down when it is entered and left."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name = name
        self._log = log

    async def model_call(self, request: ModelRequest, _context: ModelContext, call: Ask) -> ModelResponse:
        self._log.append(f"{self._name} in")
        response = await call(ModelRequest([*request.messages, UserMessage(text=self._name)]))
        self._log.append(f"{self._name} out")
        return ModelResponse(f"{response.text} {self._name}")

    async def tool_call(self, call: ToolCall, context: ToolContext, proceed: Proceed) -> ToolResult:
        self._log.append(f"{self._name} in {context.deps}")
        result = await proceed(call.model_copy(update={"arguments": call.arguments + self._name}))
        self._log.append(f"{self._name} out")
        return ToolResult(f"{result.text} {self._name}", is_error=result.is_error)


class Doing:
    """A hook round tools that does what it is given."""

    def __init__(self, do: Callable[..., Awaitable[Any]]) -> None:
        self._do = do

    async def tool_call(self, call: ToolCall, context: ToolContext, proceed: Proceed) -> ToolResult:
        result: ToolResult = await self._do(call, context, proceed)
        return result


async def make(call: ToolCall, context: ToolContext) -> ToolResult:
    return ToolResult(f"made {call.arguments}")


def test_without_hooks_nothing_stands_between() -> None:
    model = ScriptedModel([])
    assert model_chain([], model.answer, PLACE) == model.answer
    assert tool_chain([], make) is make


def test_a_hook_of_one_kind_stands_nowhere_else() -> None:
    class OnlyModel:
        model_call = Named.model_call

    assert tool_chain([OnlyModel(), object()], make) is make
    assert isinstance(OnlyModel(), ModelHook)
    assert not isinstance(OnlyModel(), ToolHook)


async def test_the_first_hook_is_the_outermost_round_a_model() -> None:
    log: list[str] = []
    model = ScriptedModel(["hello"])
    response = await model_chain([Named("a", log), Named("b", log)], model.answer, PLACE)(REQUEST)
    assert response.text == "hello b a"
    assert log == ["a in", "b in", "b out", "a out"]
    assert [message.text for message in model.requests[0].messages] == ["Hi", "a", "b"]


async def test_the_first_hook_is_the_outermost_round_a_tool() -> None:
    log: list[str] = []
    result = await tool_chain([Named("a", log), Named("b", log)], make)(SEND, CONTEXT)
    assert result == (f"made {SEND.arguments}ab b a", False, ())
    assert log == ["a in deps", "b in deps", "b out", "a out"]


async def test_a_hook_may_answer_for_the_model_and_what_it_raises_goes_on() -> None:
    class Cached:
        async def model_call(self, request: ModelRequest, _context: ModelContext, call: Ask) -> ModelResponse:
            if len(request.messages) > 1:
                return await call(request)
            if request.messages:
                return ModelResponse("cached")
            raise ValueError("nothing was said")

    model = ScriptedModel([])
    chain = model_chain([Cached()], model.answer, PLACE)
    assert (await chain(REQUEST)).text == "cached"
    with pytest.raises(ValueError, match="nothing was said"):
        await chain(ModelRequest([]))
    assert model.requests == ()


async def test_a_hook_may_refuse_a_call_or_make_it_twice() -> None:
    async def refuse(call: ToolCall, context: ToolContext, proceed: Proceed) -> ToolResult:
        return ToolResult("not on a Sunday", is_error=True)

    async def twice(call: ToolCall, context: ToolContext, proceed: Proceed) -> ToolResult:
        return ToolResult(f"{(await proceed(call)).text}, {(await proceed(call)).text}")

    async def never(call: ToolCall, context: ToolContext) -> ToolResult:
        raise AssertionError("called")

    assert await tool_chain([Doing(refuse)], never)(SEND, CONTEXT) == ("not on a Sunday", True, ())
    assert (await tool_chain([Doing(twice)], make)(SEND, CONTEXT)).text.count("made") == 2


async def test_an_error_of_a_tool_hook_is_told_to_hooks_outside_and_model_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def deny(call: ToolCall, context: ToolContext, proceed: Proceed) -> ToolResult:
        raise PermissionError("only for Ada")

    log: list[str] = []
    with caplog.at_level(logging.WARNING, "stagepost"):
        result = await tool_chain([Named("a", log), Doing(deny)], make)(SEND, CONTEXT)
    assert result == ("PermissionError: only for Ada a", True, ())
    assert log == ["a in deps", "a out"]
    said: Any = caplog.records[0].msg
    assert (said["event"], said["hook"], said["tool"]) == ("tool_hook_failed", "Doing.tool_call", "send")


async def test_an_error_of_this_layer_passes_through_all_tool_hooks() -> None:
    async def judge(call: ToolCall, context: ToolContext, proceed: Proceed) -> ToolResult:
        raise ModelUnavailable("judge", "down")

    with pytest.raises(ModelUnavailable):
        await tool_chain([Named("a", []), Doing(judge)], make)(SEND, CONTEXT)


@pytest.mark.parametrize("change", [{"name": "send_all"}, {"id": "other"}], ids=["tool", "id"])
async def test_what_a_person_has_allowed_cannot_become_another_call(change: dict[str, str]) -> None:
    async def swap(call: ToolCall, context: ToolContext, proceed: Proceed) -> ToolResult:
        return await proceed(call.model_copy(update=change))

    with pytest.raises(InvalidHook, match=r"hook Doing\.tool_call: the call of 'send' has become one of") as caught:
        await tool_chain([Doing(swap)], make)(SEND, CONTEXT)
    assert caught.value.hook == "Doing.tool_call"


async def test_a_hook_that_forgets_to_return_is_told_so() -> None:
    async def forget(call: ToolCall, context: ToolContext, proceed: Proceed) -> None:
        await proceed(call)

    class Forgetful:
        async def model_call(self, request: ModelRequest, _context: ModelContext, call: Ask) -> str:
            return (await call(request)).text

    with pytest.raises(InvalidHook, match=r"it has returned NoneType: return a ToolResult, what proceed"):
        await tool_chain([Doing(forget)], make)(SEND, CONTEXT)
    with pytest.raises(InvalidHook, match=r"it has returned str: return a ModelResponse, what call\(request\)"):
        await model_chain([Forgetful()], ScriptedModel(["text"]).answer, PLACE)(REQUEST)


async def test_a_hook_that_is_not_async_is_told_so() -> None:
    class Blocking:
        def model_call(self, request: ModelRequest, _context: ModelContext, call: Ask) -> ModelResponse:
            return ModelResponse(f"{request.messages[0].text} {call}")

        def tool_call(self, call: ToolCall, context: ToolContext, proceed: Proceed) -> ToolResult:
            return ToolResult(f"{call.name} {context.deps} {proceed}")

    with pytest.raises(InvalidHook, match=r"Blocking\.tool_call: it is not async: define it with `async def`"):
        await tool_chain([Blocking()], make)(SEND, CONTEXT)
    with pytest.raises(InvalidHook, match=r"Blocking\.model_call: it is not async"):
        await model_chain([Blocking()], ScriptedModel([]).answer, PLACE)(REQUEST)


async def test_hook_that_proceeds_twice_makes_a_call_with_effects_once() -> None:
    sent: list[str] = []

    @tool
    async def send(to: str) -> str:
        sent.append(to)
        return "sent"

    class Twice:
        async def tool_call(self, call: ToolCall, context: ToolContext, proceed: Proceed) -> ToolResult:
            del context
            first, second = await proceed(call), await proceed(call)
            return ToolResult(f"{first.text}, {second.text}")

    agent = Agent("mailer", prompt="", model=ScriptedModel([SEND, "done"]), tools=[send], hooks=[Twice()])
    (result,) = results(await agent.run("go"))
    assert (result.text, sent) == ("sent, sent", ["Ada"])
