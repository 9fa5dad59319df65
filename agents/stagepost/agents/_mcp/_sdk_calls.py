"""Calls by the SDK: what they end with, or what the server asks instead."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import anyio
from mcp import Client, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    InputResponses,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from stagepost.hub import get_logger

from .._validation import problems
from ._held import CallGone, HeldCalls
from ._link import CallLost, LinkStale
from ._remote import Asked, Continuation, RemoteResult
from ._sdk_content import UnsendableAnswer, elicitation_of, elicitations, response_for, responses_for, told, visits
from ._sdk_http import FATE, Fate
from ._sdk_tasks import CreatedTask, begun, cancel, follow

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


class Desk:
    """Where questions come in that a server asks in the middle of a call.

    Attributes:
        calls: The calls that may be asked about; None before the connection has come about, and for servers that do not
            ask in this way.
    """

    def __init__(self) -> None:
        self.calls: HeldCalls | None = None

    async def elicit(self, context: object, params: ElicitRequestParams) -> ElicitResult | ErrorData:  # noqa: ARG002  # the SDK passes it by name or place
        """The answer to a question."""
        said = None if self.calls is None else await self.calls.elicited(elicitation_of(params))
        if said is None:
            return ErrorData(
                code=INVALID_REQUEST, message="there is nobody to ask: the call is not part of a stored run"
            )
        try:
            return response_for(said)
        except UnsendableAnswer as error:
            return ErrorData(code=INVALID_REQUEST, message=str(error))


class SdkCalls:
    """Makes the calls of a connection.

    Args:
        client: The SDK's client.
        server: The server's name, for the log.
        ended: To be set when the connection turns out to be of no use any more.
        held: Keeps calls open while somebody thinks; None if the server asks otherwise.
        relist: Asks for the server's tools again.
    """

    def __init__(
        self,
        client: Client,
        server: str,
        ended: anyio.Event,
        held: HeldCalls | None,
        relist: Callable[[], Awaitable[object]],
    ) -> None:
        self._client = client
        self._server = server
        self._ended = ended
        self._held = held
        self._relist = relist

    def holds(self, key: str) -> bool:
        """Whether a call is open that waits for what people say."""
        return self._held is not None and self._held.holds(key)

    async def make(
        self, tool: str, arguments: Mapping[str, object], continuation: Continuation
    ) -> RemoteResult | Asked:
        """Call a tool by the server's name for it, or go on with a call.

        Raises:
            LinkStale: Nothing was called, and nothing can be: another link is needed.
            CallLost: The link broke, and nobody knows whether the call has taken effect.
        """
        fate = Fate()
        make = partial(self._safely, fate, partial(self._asked, tool, dict(arguments), continuation))
        if self._held is None:
            return await make()
        if continuation.must_be_open and not self._held.holds(continuation.key):
            raise CallLost
        try:
            return await self._held.make(continuation, make)
        except CallGone as error:  # the transport has ended, and may know that it was before the call
            self._check_made(fate, error)
            raise CallLost from error

    async def cancel(self, task: str) -> None:
        """Have the server end a task; it may do so when it likes."""
        await cancel(self._client.session, task)

    def _check_made(self, fate: Fate, error: Exception) -> None:
        """Find out whether a call that has failed was made.

        Raises:
            LinkStale: It certainly was not.
        """
        if fate.refused:
            self._ended.set()
            raise LinkStale from error

    async def _safely(self, fate: Fate, make: Callable[[], Awaitable[RemoteResult | Asked]]) -> RemoteResult | Asked:
        """What a call ends with, errors of the protocol included."""
        token = FATE.set(fate)
        try:
            return await make()
        except MCPError as error:
            self._check_made(fate, error)
            if fate.denied:
                return self._not_let_in(fate)
            if error.code == CONNECTION_CLOSED:
                raise CallLost from error
            if error.code == URL_ELICITATION_REQUIRED and (requests := visits(error)):
                return Asked(how="repeat", requests=requests)
            return RemoteResult(error.message, is_error=True)
        except UnsendableAnswer as error:
            return RemoteResult(str(error), is_error=True)
        except ValidationError as error:
            why = f"the server has answered something that the protocol does not know: {problems(error)}"
            return RemoteResult(why, is_error=True)
        finally:
            FATE.reset(token)

    def _not_let_in(self, fate: Fate) -> RemoteResult | Asked:
        """What a call ends with that the server has refused."""
        if fate.refusal is not None:
            return Asked(how="repeat", refusal=fate.refusal)
        get_logger("agents").warning("mcp_not_let_in", server=self._server, why=fate.denied)
        return RemoteResult(f"nothing was called: the server does not let this process in: {fate.denied}", True)

    async def _asked(self, tool: str, arguments: dict[str, Any], continuation: Continuation) -> RemoteResult | Asked:
        """The next answer of the server that somebody has to do something about."""
        before = continuation.before
        if before is not None and before.how == "task":
            return await follow(self._client.session, before, continuation.responses)
        responses, state = None, None
        if before is not None and before.how == "again":
            responses, state = responses_for(continuation.responses), before.state
        pause = _FIRST_PAUSE
        while True:
            result = await self._sent(tool, arguments, continuation, responses, state)
            if isinstance(result, CallToolResult):
                return told(result)
            if isinstance(result, CreatedTask):
                return begun(result)
            if result.input_requests:
                asked = elicitations(result.input_requests)
                if isinstance(asked, RemoteResult):
                    return asked
                return Asked(how="again", requests=asked, state=result.request_state)
            await anyio.sleep(pause)  # it only wants to be asked again
            pause = min(pause * 2, _LONGEST_PAUSE)
            responses, state = None, result.request_state

    async def _sent(
        self,
        tool: str,
        arguments: dict[str, Any],
        continuation: Continuation,
        responses: InputResponses | None,
        state: str | None,
    ) -> CallToolResult | InputRequiredResult | CreatedTask:
        send = partial(
            self._client.session.call_tool,
            tool,
            arguments,
            progress_callback=continuation.progress,
            input_responses=responses,
            request_state=state,
            meta=None if continuation.traceparent is None else {"traceparent": continuation.traceparent},
            allow_input_required=True,
            allow_claimed=True,
        )
        try:
            result: Any = await send()
        except MCPError as error:
            if error.code != HEADER_MISMATCH or self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                raise
            await self._relist()  # the headers are made by the schema, which has changed
            result = await send()
        found: CallToolResult | InputRequiredResult | CreatedTask = result
        return found
