"""Workflows as agents on the hub."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Final

import anyio

from stagepost.checkpoint import Keep, RunStatus
from stagepost.hub import Context, Hub, HubError, Message

from .._ids import new_run_id
from .._patterns._pattern import Pattern
from .._runs._starting import Order
from .._values._secrets import Secrets
from ..errors import HubRequired, RunParked
from ._dispatcher import Dispatcher
from ._run import Run
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

    def put(self, name: str, handle: Callable[[Message[object], Context], object]) -> None:
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


class Served:
    """What a hub asks of one workflow: the result of a run, or its stream.

    Args:
        runner: The runner that serves it.
        opened: Gives what works on runs, as long as the runner is open.
        workflow: What is asked.
        keep: What stays of its runs.
        secrets: Must not name them.
    """

    def __init__(
        self, runner: object, opened: Callable[[], Dispatcher], workflow: Pattern, keep: Keep, secrets: Secrets
    ) -> None:
        self._runner = runner
        self._opened = opened
        self._workflow = workflow
        self._keep = keep
        self._secrets = secrets

    def handle(self, message: Message[object], context: Context) -> object:
        """What the requester gets."""
        return self._told(message, context) if context.wants_parts else self._answered(message)

    async def _answered(self, message: Message[object]) -> object:
        """The result of a run.

        Raises:
            RunParked: It waits for somebody.
        """
        run = await self._start(message, None)
        if await run.settled() is RunStatus.WAITING:
            raise RunParked(run.id, run.waits)
        return self._workflow.reply(await run.result())

    async def _told(self, message: Message[object], context: Context) -> AsyncIterator[object]:
        """The parts of its stream, until its reader leaves; the run goes on."""

        async def begin(listen: Callable[[str], None]) -> Run:
            run_id = new_run_id()
            listen(run_id)
            with anyio.CancelScope(shield=True):
                run = await self._start(message, run_id)
            return run  # noqa: RET504  # for mypy, which knows that a scope may swallow what is raised

        with context.while_read():
            async with self._workflow.told(self._runner, begin) as parts:
                async for part in parts:
                    yield part

    async def _start(self, message: Message[object], run_id: str | None) -> Run:
        given = message.headers.get("idempotency-key")
        order = Order(
            run_id=run_id,
            key=message.id if given is None else given,
            remember_key=given is not None,
            trace=_trace(message, self._opened().starter),
            keep=self._keep,
            urgent=True,
        )
        order.check(self._secrets, self._workflow.name)
        return await self._opened().start(self._workflow, self._workflow.accept(message.data), order)


def _trace(message: Message[object], starter: Starter) -> str:
    """The trace that the run of a request belongs to.

    If its sender traces, it is the sender's, and in it what traces this handling. Otherwise it is the message's own.
    """
    given = message.headers.get("traceparent", "")
    if _TRACEPARENT.fullmatch(given) is None:
        return message.trace
    here = starter.ambient()
    return here if here is not None and here.startswith(given[:_TRACE_ID]) else given
