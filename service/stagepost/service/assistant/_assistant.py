"""The front door: one message at a time in each conversation, and each message once."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final, Self

import anyio

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunStatus
from stagepost.workflows import Run, RunConflict, RunError, Runner

from ..channels import Load, NoSender, Rollout
from ._conversation import CREATE, forget, lines_of
from ._pipeline import AssistantWorkflow
from ._request import AssistantRequest, AssistantResult, HistoryLine
from ._state import AssistantState
from ._ways import Ways
from .errors import InvalidAssistant

_CONVERSATION: Final = "conversation"
_SHADOW: Final = "shadow"
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
        load: How much may be asked and spent. Whoever asks too much is refused at once.
        rollout: Who is answered by the pipeline, and who by one agent alone: decided at the first message of a
            conversation. None to do as the request says.
    """

    def __init__(
        self,
        workflow: AssistantWorkflow,
        runner: Runner,
        *,
        load: Load | None = None,
        rollout: Callable[[], Rollout] | None = None,
    ) -> None:
        self._workflow = workflow
        self._runner = runner
        self._load = load
        self._ways = None if rollout is None else Ways(runner.store, rollout)
        self._lines: dict[str, _Line] = {}
        self._last: OrderedDict[str, Run] = OrderedDict()
        if rollout is not None and not workflow.has_single:
            raise InvalidAssistant("a roll-out needs an agent that answers alone: give AssistantAgents(single=…)")

    async def __aenter__(self) -> Self:
        """Make the tables of conversations, if there are none. Do it before ``runner.recover()``."""
        await self._runner.store.execute(*CREATE)
        return self

    async def __aexit__(self, *_raised: object) -> None:
        """Nothing has to be closed: runs go on with the runner."""

    async def ask(self, request: AssistantRequest) -> AssistantResult:
        """Answer a message: when this returns, the answer is sent, stored, logged and counted.

        Cancelling it does not stop the answer; the next message of the conversation waits for it. So it does for an
        answer that waits for a person: to approve a tool, or to say what became of a part.

        Raises:
            LoadRefused: There is more to do, or more was spent, than the limits allow.
            UnknownChannel: Nobody formats for the channel.
            NoSender: Nobody sends by the channel.
            InvalidAssistant: The path is ``single``, and no agent answers alone.
            RunConflict: The request id stands for another message.
            RunForgotten: It was answered long ago, and retention has deleted its run.
            RunFailed: It has failed, such as when the store could not be written; ``runner.resume`` goes on.
            RunnerStopped: The runner was left; the answer comes when the next process recovers.
        """
        self.check(request)
        if self._load is None:
            return await self._answered(request)
        async with self._load.request(tenant=request.tenant, user=request.user.id):
            result = await self._answered(request)
            spent = result.metadata
            await self._load.spend(tenant=request.tenant, tokens=spent.tokens, dollars=spent.cost or 0.0)
            return result

    async def _answered(self, request: AssistantRequest) -> AssistantResult:
        """Answer a message when it is its turn."""
        name = f"{request.tenant}/{request.conversation_id}"
        async with self._turn(name):
            await self._earlier(name, request)
            run = await self._begun(name, request)
            self._remember(name, run)
            state = await run.result()
        assert state.result is not None  # noqa: S101  # the last step has made it
        result: AssistantResult = state.result
        return result

    async def _begun(self, name: str, request: AssistantRequest) -> Run:
        """The run of a message, which goes the way of its conversation; that of a resend, if there is one."""
        if self._ways is None:
            return await self._started(name, request)
        way = await self._ways.of(request)
        request = request.model_copy(update={"path": "pipeline" if way == "new" else "single"})
        try:
            run = await self._started(name, request)
        except RunConflict:  # the flag was switched between a message and its resend
            other = request.model_copy(update={"path": "single" if way == "new" else "pipeline"})
            return await self._started(name, other)
        if way == "shadow":
            await self._started(name, request.model_copy(update={"path": "pipeline"}), is_shadow=True)
        return run

    async def _started(self, name: str, request: AssistantRequest, *, is_shadow: bool = False) -> Run:
        labels = {"user": request.user.id, "channel": request.channel}
        conversation = {_SHADOW: name} if is_shadow else {_CONVERSATION: name}
        return await self._runner.start(
            self._workflow,
            AssistantState(request=request, is_shadow=is_shadow),
            key=f"{_key(request)}/shadow" if is_shadow else _key(request),
            labels={**conversation, **labels},
        )

    async def lines(self, conversation_id: str, *, tenant: str = "default", most: int = 100) -> tuple[HistoryLine, ...]:
        """What was said in a conversation, oldest first.

        Args:
            conversation_id: The conversation.
            tenant: Whose it is.
            most: At most so many lines, the last ones.
        """
        return await lines_of(self._runner.store, tenant, conversation_id, most)

    async def forget(self, conversation_id: str, *, tenant: str = "default") -> None:
        """Delete a conversation: what was said, and the runs of its answers. It waits for an answer under way.

        A message that is sent again after that counts as a new one.

        Args:
            conversation_id: The conversation.
            tenant: Whose it is.
        """
        name = f"{tenant}/{conversation_id}"
        async with self._turn(name):
            last = self._last.pop(name, None)
            if last is not None:
                await _ended(last)
            for label in (_CONVERSATION, _SHADOW):
                await self._delete_runs({label: name})
            await forget(self._runner.store, tenant, conversation_id)

    async def _delete_runs(self, labels: Mapping[str, str]) -> None:
        while True:
            page = await self._runner.runs.list(workflow=self._workflow.name, labels=labels, limit=100)
            for info in page.items:
                await _ended(await self._runner.get(info.run_id))
                await self._runner.runs.delete(info.run_id)
            if page.next is None:
                return

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
        for info in page.items:
            if info.key != _key(request):
                await _ended(await self._runner.get(info.run_id))

    def _remember(self, name: str, run: Run) -> None:
        self._last[name] = run
        self._last.move_to_end(name)
        while len(self._last) > _KNOWN:
            self._last.popitem(last=False)


_OPEN: Final = tuple(status for status in RunStatus if status.is_open)


def _key(request: AssistantRequest) -> str:
    """What the run of a message is found by."""
    return f"assistant/{request.tenant}/{request.request_id}"


async def _ended(run: Run) -> None:
    """Wait until a run has ended, however."""
    with suppress(RunError):
        await run.result()
