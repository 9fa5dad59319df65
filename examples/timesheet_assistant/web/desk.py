"""What the routes work with: the assistant, open, and the messages that it answers."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final, Literal, TypeAlias

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from stagepost.checkpoint import RunInfo
from stagepost.service.assistant import AssistantPath, AssistantRequest
from stagepost.service.channels import LiveFile, Load, LoadLimits, Rollout, Way
from stagepost.workflows import RunError, Runner

from ..backend import Failures
from ..core import Core, Options, open_core
from ..mailing import key_of, with_mail

PathChoice: TypeAlias = Literal["pipeline", "single", "rollout"]

_LIMITS: Final = LoadLimits(user_requests="60/minute", tenant_requests="600/minute")
_ROLLOUT: Final = """\
# Who is answered by the pipeline, where the page says "as rolled out": the others get one agent alone.
version: "1.0"
enabled: true
share: 0.5
users: {maria: true}
channels: {teams: false}
"""
_LOOK: Final = 0.02  # seconds between two looks for a run that is about to start
_SHOWN: Final = 30  # messages of a conversation


class Desk:
    """The assistant while the application runs.

    Args:
        options: How the assistant runs.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._core: Core | None = None
        self._group: TaskGroup | None = None
        self._load = Load(_LIMITS)
        self.failures: Final = Failures()
        options.folder.mkdir(parents=True, exist_ok=True)
        path = options.folder / "rollout.yaml"
        if not path.exists():
            path.write_text(_ROLLOUT, encoding="utf-8")
        self.rollout: Final = LiveFile(path, Rollout, every=0.3)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Runner]:
        """Open the assistant, for as long as the application runs."""
        async with (
            open_core(self._options, failures=self.failures) as core,
            self.rollout.watched(),
            anyio.create_task_group() as group,
        ):
            self._core, self._group = core, group
            yield core.runner
            group.cancel_scope.cancel()

    @property
    def core(self) -> Core:
        """The assistant.

        Raises:
            RuntimeError: The application has not started.
        """
        if self._core is None:
            raise RuntimeError("the assistant is not open")
        return self._core

    async def start(self, request: AssistantRequest) -> RunInfo:
        """Have a message answered, whoever listens; returns its run once it has begun.

        It begins when the message before it, in the same conversation, has been answered.

        Raises:
            LoadRefused: There are too many messages.
            RunConflict: The id of the request stands for another message.
        """
        core, group = self.core, self._group
        if group is None:
            raise RuntimeError("the assistant is not open")
        request = await with_mail(request, core.runner)
        core.assistant.check(request)
        stack = AsyncExitStack()
        await stack.enter_async_context(self._load.request(tenant=request.tenant, user=request.user.id))
        problems: list[RunError] = []
        group.start_soon(self._answer, request, stack, problems)
        while not problems:
            found = await core.runner.runs.list(workflow="assistant", key=key_of(request))
            if found.items and json.loads(found.items[0].input)["request"] == request.model_dump(mode="json"):
                return found.items[0]
            await anyio.sleep(_LOOK)
        raise problems[0]

    async def said(self, conversation: str) -> Sequence[RunInfo]:
        """The runs that have answered the messages of a conversation, in order."""
        labels = {"conversation": f"default/{conversation}"}
        found = await self.core.runner.runs.list(workflow="assistant", labels=labels, newest_first=True, limit=_SHOWN)
        return [*reversed(found.items)]

    async def style(self) -> dict[str, str | None]:
        """The style guide's file as it is, the edition that is used, and what is wrong with the file."""
        guide, path = self.core.guide, anyio.Path(self.core.guide_path)
        try:
            text = await path.read_text(encoding="utf-8")
        except OSError:
            text = ""
        return {"text": text, "version": guide.edition.version, "problem": guide.problem}

    async def restyle(self, text: str) -> dict[str, str | None]:
        """Write the style guide's file, as an editor would, and wait until the assistant has read it."""
        path = anyio.Path(self.core.guide_path)
        new = path.with_name(f"{path.name}.new")
        with suppress(OSError):  # what is wrong with the file is told below
            await new.write_text(text, encoding="utf-8")
            await new.replace(path)
        await anyio.to_thread.run_sync(self.core.guide.reread)
        return await self.style()

    async def look(self) -> str:
        """For ``GET /health``: which edition of the style guide is used.

        Raises:
            InvalidFile: Its file does not fit.
        """
        return await self.core.guide.look()

    async def look_at_channels(self) -> str:
        """The same for the limits of channels."""
        return await self.core.limits.look()

    async def path(self, choice: PathChoice, *, conversation: str, user: str, channel: str) -> AssistantPath:
        """By what a message is answered: as the page says, or as it is rolled out, once for each conversation."""
        if choice != "rollout":
            return choice
        said = await self.said(conversation)
        first = json.loads(said[0].input)["request"]["path"] if said else None
        decided: Way | None = None if first is None else "new" if first == "pipeline" else "old"
        way = self.rollout.value.way(conversation, user=user, channel=channel, decided=decided)
        return "pipeline" if way == "new" else "single"

    async def _answer(self, request: AssistantRequest, stack: AsyncExitStack, problems: list[RunError]) -> None:
        """Answer; what goes wrong is told by the stream of the run, and in the log."""
        async with stack:
            try:
                await self.core.assistant.ask(request)
            except RunError as error:
                problems.append(error)
