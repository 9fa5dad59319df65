"""Calls that stay open while somebody thinks: before the protocol of 2026, servers ask in the middle of a call.

Such a call is made by a task of the connection and not by the step that wants it, so that the step can be left while
the run is parked. The step that is run again takes the call up where it stands. If the connection has ended since, the
call is lost; whoever makes it anew gives the answers that are known at once.

Which call a server's question belongs to is known over HTTP. Over standard input and output the protocol does not say
it: it is that of the calls under way that was begun first and does not wait for an answer already.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final

import anyio
from anyio.abc import TaskGroup

from ._remote import Asked, Continuation, Elicitation, RemoteResult, Response

_MOST: Final = 100  # calls of one connection that wait for people

_CALL: ContextVar["_Call | None"] = ContextVar("stagepost_mcp_call", default=None)


class CallGone(Exception):
    """The connection has ended under the call."""


class _Asking:
    """One question, until somebody has answered."""

    def __init__(self, elicitation: Elicitation) -> None:
        self.elicitation = elicitation
        self.is_told = False
        self.response = Response(action="cancel")
        self.answered = anyio.Event()

    def answer(self, response: Response) -> None:
        self.response = response
        self.answered.set()


class _Call:
    """One call that is under way."""

    def __init__(self, continuation: Continuation) -> None:
        self.earlier = list(continuation.earlier)
        self.can_ask = continuation.can_ask
        self.scope = anyio.CancelScope()
        self.questions: dict[str, _Asking] = {}
        self.outcome: RemoteResult | Asked | Exception | None = None
        self.count = 0
        self._news = anyio.Event()

    def tell(self) -> None:
        """Wake whoever waits for it."""
        self._news.set()

    def known(self, elicitation: Elicitation) -> Response | None:
        """What was said to the very same question when the call was made before; each answer counts once."""
        for index, (asked, response) in enumerate(self.earlier):
            if asked == elicitation:
                del self.earlier[index]
                return response
        return None

    async def ask(self, elicitation: Elicitation) -> Response:
        """What somebody answers."""
        name, asking = str(self.count), _Asking(elicitation)
        self.count += 1
        self.questions[name] = asking
        self.tell()
        try:
            await asking.answered.wait()
        finally:
            del self.questions[name]
        return asking.response

    async def next(self) -> RemoteResult | Asked:
        """How it has ended, or what it asks now."""
        while self.outcome is None:
            fresh = {name: asking for name, asking in self.questions.items() if not asking.is_told}
            if fresh:
                for asking in fresh.values():
                    asking.is_told = True
                return Asked(how="open", requests={name: asking.elicitation for name, asking in fresh.items()})
            await self._news.wait()
            self._news = anyio.Event()
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


class HeldCalls:
    """The calls of one connection, and those among them that wait for people.

    Args:
        tasks: Makes them.
    """

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._under_way: list[_Call] = []
        self._held: dict[str, _Call] = {}

    def holds(self, key: str) -> bool:
        """Whether a call waits for what people say."""
        return key in self._held

    async def make(
        self, continuation: Continuation, call: Callable[[], Awaitable[RemoteResult | Asked]]
    ) -> RemoteResult | Asked:
        """Make a call, or go on with one that was held.

        Args:
            continuation: What it has to do with its run.
            call: Makes it.

        Raises:
            CallGone: The connection has ended under it.
        """
        made = self._held.pop(continuation.key, None)
        if made is None:
            made = _Call(continuation)
            self._under_way.append(made)
            self._tasks.start_soon(self._run, made, call)
        for name, response in continuation.responses.items():
            if name in made.questions:
                made.questions[name].answer(response)
        try:
            outcome = await made.next()
        except BaseException:
            made.scope.cancel()
            raise
        if made.outcome is None:
            self._hold(continuation.key, made)
        return outcome

    async def elicited(self, elicitation: Elicitation) -> Response | None:
        """What somebody says to a question that the server asks; None if there is nobody to ask."""
        call = self._asking()
        if call is None or not call.can_ask:
            return None
        return call.known(elicitation) or await call.ask(elicitation)

    def _hold(self, key: str, call: _Call) -> None:
        self._held[key] = call
        while len(self._held) > _MOST:  # such as those of runs that were cancelled
            self._held.pop(next(iter(self._held))).scope.cancel()

    def _asking(self) -> _Call | None:
        """The call that a question belongs to."""
        call = _CALL.get()
        if call in self._under_way:
            return call
        return next((call for call in self._under_way if not call.questions), None)

    async def _run(self, made: _Call, call: Callable[[], Awaitable[RemoteResult | Asked]]) -> None:
        _CALL.set(made)
        try:
            with made.scope:
                made.outcome = await call()
        except Exception as error:  # noqa: BLE001  # raised to whoever waits for it
            made.outcome = error
        finally:
            made.outcome = CallGone() if made.outcome is None else made.outcome
            self._under_way.remove(made)
            made.tell()
