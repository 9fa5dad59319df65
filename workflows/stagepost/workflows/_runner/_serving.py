"""Workflows as agents on the hub."""

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import anyio

from stagepost.checkpoint import Keep, RunStatus
from stagepost.hub import Hub, HubError, Message

from .._patterns._pattern import Pattern
from .._runs._starting import Order
from .._values._secrets import Secrets
from ..errors import HubRequired, RunParked
from ._dispatcher import Dispatcher
from ._starter import Starter

_TRACEPARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""W3C Trace Context, level 1."""
_TRACE_ID: Final = len("00-") + 32  # where the id of the trace ends


class Serving:
    """Puts workflows on a hub, and takes them off again.

    Args:
        hub: The hub, if there is one.
    """

    def __init__(self, hub: Hub | None) -> None:
        self._hub = hub
        self._names: list[str] = []

    def check(self, name: str) -> Hub:
        """See that there is a hub.

        Raises:
            HubRequired: There is none.
        """
        if self._hub is None:
            raise HubRequired(name, name)
        return self._hub

    def put(self, name: str, handle: Callable[[Message[object]], Awaitable[object]]) -> None:
        """Have requests to a name handled, any number at once.

        Raises:
            DuplicateAgent: The name is taken.
        """
        self.check(name).register(name, handle, concurrency=None, detach=True)
        self._names.append(name)

    async def leave(self, patience: float) -> None:
        """Take them off the hub, since nobody would do their work; their runs have ended, so their handlers do."""
        names, self._names = self._names, []
        with anyio.move_on_after(patience, shield=True):
            for name in names:
                with suppress(HubError):  # the hub has stopped, or somebody else has unregistered it
                    await self.check(name).unregister(name)


async def answered(
    opened: Callable[[], Dispatcher], workflow: Pattern, keep: Keep, secrets: Secrets, message: Message[object]
) -> object:
    """The answer to a request: the result of its run.

    Args:
        opened: Gives what works on runs, as long as the runner is open.
        workflow: What was asked.
        keep: What stays of the run.
        secrets: Must not name it.
        message: The request.

    Raises:
        RunParked: It waits for somebody.
    """
    given = message.headers.get("idempotency-key")
    order = Order(
        key=message.id if given is None else given,
        remember_key=given is not None,
        trace=_trace(message, opened().starter),
        keep=keep,
        urgent=True,
    )
    order.check(secrets, workflow.name)
    run = await opened().start(workflow, workflow.accept(message.data), order)
    if await run.settled() is RunStatus.WAITING:
        raise RunParked(run.id, run.waits)
    return workflow.reply(await run.result())


def _trace(message: Message[object], starter: Starter) -> str:
    """The trace that the run of a request belongs to.

    If its sender traces, it is the sender's, and in it what traces this handling. Otherwise it is the message's own.
    """
    given = message.headers.get("traceparent", "")
    if _TRACEPARENT.fullmatch(given) is None:
        return message.trace
    here = starter.ambient()
    return here if here is not None and here.startswith(given[:_TRACE_ID]) else given
