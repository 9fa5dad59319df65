"""The front door: one message at a time in each conversation, and each message once."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, Self

import anyio

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunStatus
from stagepost.workflows import Run, RunError, Runner

from ..channels import NoSender
from ._conversation import CREATE
from ._pipeline import AssistantWorkflow
from ._request import AssistantRequest, AssistantResult
from ._state import AssistantState
from .errors import InvalidAssistant

_CONVERSATION: Final = "conversation"
_KNOWN: Final = 10_000  # conversations whose last run is remembered


@dataclass(slots=True, eq=False)
class _Line:
    """Those who wait in one conversation."""

    lock: anyio.Lock
    waiting: int = 0


class Assistant:
    """Answers messages by a workflow on a runner.

    ::

        async with SqliteStore("assistant.db") as store, Runner(store, workflows=[workflow]) as runner:
            async with Assistant(workflow, runner) as assistant:
                await runner.recover()
                result = await assistant.ask(request)

    Messages of one conversation are answered one after another, in the order in which they are asked, over whichever
    channels they come; each sees the answers before it. A message that is asked again with its id gets the answer that
    there is, and nothing is sent a second time.

    Args:
        workflow: What answers; the runner knows it.
        runner: Works on it. Conversations are kept in a table of its store.
    """

    def __init__(self, workflow: AssistantWorkflow, runner: Runner) -> None:
        self._workflow = workflow
        self._runner = runner
        self._lines: dict[str, _Line] = {}
        self._last: OrderedDict[str, Run] = OrderedDict()

    async def __aenter__(self) -> Self:
        """Make the table of conversations, if there is none. Do it before ``runner.recover()``."""
        await self._runner.store.execute(*CREATE)
        return self

    async def __aexit__(self, *_raised: object) -> None:
        """Nothing has to be closed: runs go on with the runner."""

    async def ask(self, request: AssistantRequest) -> AssistantResult:
        """Answer a message: when this returns, the answer is sent, stored, logged and counted.

        Cancelling it does not stop the answer; the next message of the conversation waits for it.

        Raises:
            UnknownChannel: Nobody formats for the channel.
            NoSender: Nobody sends by the channel.
            InvalidAssistant: The path is ``single``, and no agent answers alone.
            RunConflict: The request id stands for another message.
            RunFailed: It cannot be known what has become of it; ``runner.resume`` goes on.
            RunnerStopped: The runner was left; the answer comes when the next process recovers.
        """
        self.check(request)
        name = f"{request.tenant}/{request.conversation_id}"
        async with self._turn(name):
            await self._earlier(name, request)
            run = await self._runner.start(
                self._workflow,
                AssistantState(request=request),
                key=f"assistant/{request.tenant}/{request.request_id}",
                labels={_CONVERSATION: name, "user": request.user.id, "channel": request.channel},
            )
            self._remember(name, run)
            state = await run.result()
        assert state.result is not None  # noqa: S101  # the last step has made it
        result: AssistantResult = state.result
        return result

    def check(self, request: AssistantRequest) -> None:
        """See that a message can be answered at all; see `ask`."""
        self._workflow.channels.limit(request.channel)
        if request.channel not in self._workflow.senders:
            raise NoSender(request.channel, self._workflow.senders)
        if request.path == "single" and not self._workflow.has_single:
            raise InvalidAssistant("no agent answers alone: give AssistantAgents(single=…)")

    @asynccontextmanager
    async def _turn(self, name: str) -> AsyncIterator[None]:
        """Wait until all who came earlier in a conversation are done."""
        line = self._lines.setdefault(name, _Line(anyio.Lock()))
        line.waiting += 1
        try:
            async with line.lock:
                yield
        finally:
            line.waiting -= 1
            if not line.waiting:
                del self._lines[name]

    async def _earlier(self, name: str, request: AssistantRequest) -> None:
        """Wait for the answer before, which nobody may be waiting for any more; after a restart, look for it."""
        last = self._last.get(name)
        if last is not None:
            await _ended(last)
            return
        page = await self._runner.runs.list(
            workflow=self._workflow.name, labels={_CONVERSATION: name}, status=_OPEN, limit=100
        )
        own = f"assistant/{request.tenant}/{request.request_id}"
        for info in page.items:
            if info.key != own:
                await _ended(await self._runner.get(info.run_id))

    def _remember(self, name: str, run: Run) -> None:
        self._last[name] = run
        self._last.move_to_end(name)
        while len(self._last) > _KNOWN:
            self._last.popitem(last=False)


_OPEN: Final = tuple(status for status in RunStatus if status.is_open)


async def _ended(run: Run) -> None:
    """Wait until a run has ended, however."""
    with suppress(RunError):
        await run.result()
