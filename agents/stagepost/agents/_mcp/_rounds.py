"""One call of a server's tool, with all that the server asks on the way.

A call that asks nothing is one round. Each time the server asks something, that round ends: what it has asked, and what
it wants to be told again, is saved, the run waits for people, and the next round goes on with what they have said. A
process that takes over finds what was asked and goes on from there; see `How` for what that means to the server. Only
a call that was open in a process that has ended (`"open"`) is begun again; whether that may be done is decided as for
any call that a crash has interrupted.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import anyio
from pydantic import JsonValue

from stagepost.hub import describe_error

from .._models._addresses import bare_address
from .._models._model import JsonSchema
from .._tools._invoking import ToolResult, invoked
from .._tools._outside import Answer, AnyAnswer, Outside, Question, Refuse
from .._tools._returned import as_json
from .._tools._tool import Tool
from .._tracing._current import current_trace_context
from ..errors import McpCallFailed
from ._authorizing import Authorizations
from ._oauth import AuthorizationCode
from ._remote import Asked, Continuation, Elicitation, Refusal, Remote, RemoteResult, Response
from ._server import Http, McpServer

_MOST: Final = 50  # rounds of one call: a server that never ends asking is broken
_CANCEL_LIMIT: Final = 2.0  # seconds
_NOBODY_LETS_IN: Final = "a person has to authorize this process, and nobody can be asked"
_VISIT: Final[JsonSchema] = {"type": "null"}

Make: TypeAlias = Callable[[], Awaitable[ToolResult]]
"""Makes a round."""

Said: TypeAlias = tuple[Asked, Mapping[str, Response]]
"""What a server has asked in a round, and what people have said."""


class Callee(NamedTuple):
    """What is called.

    Attributes:
        server: The server.
        tool: Its name for the tool.
        remote: The connection to it.
    """

    server: McpServer
    tool: str
    remote: Remote


class Rounds:
    """One call.

    Args:
        tool: The tool as ours.
        callee: The tool as its server's.
        arguments: Those of the call.
        outside: Asks people, and knows what was saved.
    """

    def __init__(
        self, tool: Tool[..., object], callee: Callee, arguments: Mapping[str, object], outside: Outside
    ) -> None:
        self._tool = tool
        self._server, self._name, self._remote = callee
        self._arguments = arguments
        self._outside = outside
        self._key = f"{outside.step.run_id}/{outside.number}"

    async def result(self) -> ToolResult:
        """The result, after all rounds."""
        said: list[Said] = []
        while len(said) < _MOST:
            asked = self._known(len(said))
            if asked is None:
                outcome = await self._round(said)
                if isinstance(outcome, ToolResult):
                    return outcome
                asked = outcome
            if asked.requests and not self._outside.step.is_durable:
                return self._failed(_nobody(asked))
            responses = await self._responses(asked, sum(len(earlier.requests) for earlier, _ in said))
            if asked.how == "repeat" and any(each.action != "accept" for each in responses.values()):
                return self._failed("a person has declined what the server needs to do it")
            said.append((asked, responses))
        return self._failed(f"the server has asked {_MOST} times, and gave no result")

    def _known(self, number: int) -> Asked | None:
        """What the server has asked in a round, if that is over."""
        noted = self._outside.step.noted(self._note(number))
        return None if noted is None else Asked.model_validate(noted)

    def _note(self, number: int) -> str:
        return f"asked-{self._outside.number}-{number}"

    async def _round(self, said: Sequence[Said]) -> ToolResult | Asked:
        """The next round: the result of the call, or what the server asks."""
        found: list[Asked] = []
        continuation = self._continuation(said)

        async def make() -> ToolResult:
            result = await self._made(continuation, found)
            if found and self._outside.step.is_durable:
                asked = found[-1].model_dump(mode="json", exclude_defaults=True)
                await self._outside.step.note(self._note(len(said)), asked)
            return result

        result = await self._at_most_once(make, continuation, len(said))
        return found[-1] if found else result

    async def _at_most_once(self, make: Make, continuation: Continuation, number: int) -> ToolResult:
        """Make a round, unless that might be for the second time."""
        before = continuation.before
        if self._tool.idempotent or (before is not None and before.how == "task"):
            return await make()
        is_lost = before is not None and before.how == "open" and not continuation.must_be_open
        return await self._outside.at_most_once(make, part=number, is_begun=is_lost)

    def _continuation(self, said: Sequence[Said]) -> Continuation:
        before, responses = said[-1] if said else (None, {})
        is_held = before is not None and before.how == "open" and self._remote.holds(self._key)
        observed = current_trace_context()
        return Continuation(
            key=self._key,
            before=before,
            responses=responses,
            must_be_open=is_held and not self._tool.idempotent,
            earlier=[(asked.requests[name], it) for asked, all_ in said for name, it in all_.items()],
            can_ask=self._outside.step.is_durable,
            progress=self._outside.progress,
            traceparent=None if observed is None else observed.traceparent,
        )

    async def _made(self, continuation: Continuation, found: list[Asked]) -> ToolResult:
        """Make a round, with the time that it may take and the attempts that it has.

        Args:
            continuation: What it has to do with the run.
            found: Takes what the server asks.
        """

        async def function() -> str | ToolResult:
            found.clear()
            outcome = await self._remote.call(self._name, self._arguments, continuation)
            if isinstance(outcome, RemoteResult):
                return told(outcome, self._server.name, self._name)
            found.append(outcome if outcome.refusal is None else await self._authorization(outcome.refusal))
            return ""

        if continuation.before is None or continuation.before.how != "task":
            return await invoked(self._tool, function, is_own=self._outside.step.is_durable)
        try:
            return await invoked(
                replace(self._tool, timeout=None), function, is_own=self._outside.step.is_durable
            )  # it takes the time that it takes
        except anyio.get_cancelled_exc_class():
            await self._cancel(continuation.before.state or "")
            raise

    async def _authorization(self, refusal: Refusal) -> Asked:
        """What a person is asked whom the server wants to let this process in.

        Raises:
            McpCallFailed: There is nobody to ask.
        """
        server = self._server
        if not self._outside.step.is_durable or not isinstance(server.transport, Http):
            raise McpCallFailed(server.name, self._name, f"{_NOBODY_LETS_IN}: run the agent on a Runner")
        auth = server.transport.auth
        if not isinstance(auth, AuthorizationCode):
            raise McpCallFailed(server.name, self._name, f"{_NOBODY_LETS_IN}: give auth=AuthorizationCode(…)")
        address = bare_address(server.transport.url)
        url = await Authorizations(auth.tokens).ask(server.name, address, auth, refusal, server.answer_within)
        message = f"{server.name} wants your authorization. Open the address and allow access; the work then goes on."
        return Asked(how="repeat", requests={"authorization": Elicitation(message=message, url=url)})

    async def _cancel(self, task: str) -> None:
        """Have the server end a task, unless another process goes on with it."""
        if self._outside.step.was_cancelled or not self._outside.step.is_durable:
            with anyio.move_on_after(_CANCEL_LIMIT, shield=True):
                await self._remote.cancel(task)

    async def _responses(self, asked: Asked, index: int) -> Mapping[str, Response]:
        """What people say to what a server asks, one after the other.

        Args:
            asked: What it asks.
            index: The number of questions before.
        """
        said: dict[str, Response] = {}
        for name, elicitation in asked.requests.items():
            given = await self._outside.ask(self._question(elicitation), index=index + len(said))
            said[name] = _response(given)
        return said

    def _question(self, elicitation: Elicitation) -> Question:
        mask = self._mask
        form = elicitation.form
        return Question(
            schema=_VISIT if form is None else {"type": "object", **_masked(form, mask)},
            message=mask(elicitation.message),
            server=self._server.name,
            url=None if elicitation.url is None else mask(elicitation.url),
            within=self._server.answer_within,
        )

    def _mask(self, text: str) -> str:
        return self._outside.step.mask(self._server.mask(text))

    def _failed(self, why: str) -> ToolResult:
        return ToolResult(describe_error(McpCallFailed(self._server.name, self._name, why)), is_error=True)


def told(result: RemoteResult, server: str, tool: str) -> str | ToolResult:
    """A server's result as one of ours.

    Raises:
        McpCallFailed: It is an error without parts.
    """
    if not result.is_error:
        return ToolResult(result.text, parts=result.parts) if result.parts else as_json(result.text)
    error = McpCallFailed(server, tool, result.text)
    if result.parts:
        return ToolResult(describe_error(error), is_error=True, parts=result.parts)
    raise error


def _response(given: AnyAnswer | None) -> Response:
    """What somebody has said, as servers want to be told; nobody in time is nobody who has chosen."""
    match given:
        case Answer(value=value):
            return Response(action="accept", content=value)
        case Refuse():
            return Response(action="decline")
        case _:
            return Response(action="cancel")


def _nobody(asked: Asked) -> str:
    messages = "; ".join(it.message for it in asked.requests.values())
    return f"its server asks a person ({messages}), and in memory there is nobody to ask: run the agent on a Runner"


def _masked(value: Mapping[str, JsonValue], mask: Callable[[str], str]) -> dict[str, JsonValue]:
    def inside(value: JsonValue) -> JsonValue:
        match value:
            case str():
                return mask(value)
            case list():
                return [inside(each) for each in value]
            case dict():
                return {mask(name): inside(each) for name, each in value.items()}
            case _:
                return value

    return {mask(name): inside(each) for name, each in value.items()}
