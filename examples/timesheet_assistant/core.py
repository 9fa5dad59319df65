"""The assistant as one object: what the terminal and the web page are made of.

::

    async with open_core(Options(folder=Path("timesheets"))) as core:
        result = await core.ask("ada", "Check my timesheet", channel="sms", conversation_id="ada-1")
        print(result.formatted_response.text, result.scorecards)
        core.failures.data_down = True          # from now on
        core.deliveries("ada-1")                # what was sent, part by part
        core.metrics.statistics()
        core.guide.path                         # may be edited while it runs
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

import anyio

from stagepost.agents import Cached, Model
from stagepost.agents.quality import QualityMetrics, ValidationFailureLog
from stagepost.checkpoint import SqliteStore
from stagepost.hub import Hub
from stagepost.service.assistant import (
    Assistant,
    AssistantPath,
    AssistantRequest,
    AssistantResult,
    AssistantWorkflow,
    StageBudgets,
)
from stagepost.service.channels import (
    ChannelLimits,
    Channels,
    FileOutbox,
    LiveFile,
    NotSent,
    OutgoingPart,
    StyleGuide,
)
from stagepost.workflows import Retry, Runner

from .agents import assistant_agents, judge, refiner
from .backend import TOKEN, Backend, Failures
from .data import USERS
from .local import local_models
from .mailing import with_mail

CHANNELS: Final = ("sms", "whatsapp", "email", "teams")
_PARTS: Final = ("planner", "data", "composer", "quality", "refiner", "single")
_SMALL: Final = frozenset({"data", "quality"})  # parts for which a smaller model is enough
_TENANT: Final = "default"  # all users are of one tenant
_LIMITS: Final = """\
# How long messages may be, and whether failed answers are refined. Edit it while it runs; the rest has defaults.
version: "1.0"
channels:
  sms: {max_parts: 4}  # an answer that needs more becomes a summary; whoever replies EMAIL gets the whole by mail
"""
_GUIDE: Final = """\
# How the assistant sounds. Edit it while it runs: the next answer follows. What is missing here has a default.
version: "1.0"
brand: {name: "Timesheet Assistant", personality: "friendly, professional, helpful"}
tone: {default: "conversational", error: "empathetic", success: "encouraging"}
emojis: {enabled: true, success: "✅", warning: "⚠️", error: "❌", info: "ℹ️"}
humor: {enabled: true, style: "light, work-related", frequency: "occasional"}
formatting: {greeting: true, sign_off: false, use_user_name: true}
"""  # noqa: RUF001  # emoji


@dataclass(frozen=True)
class Options:
    """How the assistant runs.

    Attributes:
        folder: Where its store, its outbox and its style guide are.
        pace: Seconds that each local model thinks.
        model: A provider's model in place of the local ones; `small_model` for parts that are easier.
        small_model: See `model`; the same by default.
        budgets: How long the stages may take.
    """

    folder: Path
    pace: float = 0.0
    model: str | None = field(default_factory=lambda: os.environ.get("STAGEPOST_MODEL") or None)
    small_model: str | None = field(default_factory=lambda: os.environ.get("STAGEPOST_SMALL_MODEL") or None)
    budgets: StageBudgets = field(default_factory=StageBudgets)


class Outbox:
    """Keeps what is sent as files, unless sending is to fail.

    Args:
        inner: Writes the files.
        failures: What is to go wrong.
        pace: Seconds that each part takes, so that they are seen to come one after the other.
    """

    takes_our_id: Final = True

    def __init__(self, inner: FileOutbox, failures: Failures, pace: float = 0.0) -> None:
        self._inner = inner
        self._failures = failures
        self._pace = pace

    async def send(self, delivery: OutgoingPart) -> str:
        """Send a part.

        Raises:
            NotSent: Nothing can be sent.
        """
        await anyio.sleep(self._pace)
        if self._failures.sender_down:
            raise NotSent("the provider was switched off")
        return await self._inner.send(delivery)


@dataclass
class Core:
    """The assistant, open.

    Attributes:
        assistant: Answers.
        runner: Works on the answers.
        hub: All agents are on it, and so is the whole assistant, which is asked with an `AssistantRequest`.
        guide: The style guide.
        limits: How long messages may be: `channels.yaml`.
        guide_path: Its file.
        failures: What is to go wrong.
        metrics: Counts.
        logged: What has failed a criterion, the newest last.
        outbox: What was sent.
    """

    assistant: Assistant
    runner: Runner
    hub: Hub
    guide: LiveFile[StyleGuide]
    limits: LiveFile[ChannelLimits]
    guide_path: Path
    failures: Failures
    metrics: QualityMetrics
    logged: list[ValidationFailureLog]
    outbox: FileOutbox

    async def ask(
        self,
        user: str,
        message: str,
        *,
        channel: str,
        conversation_id: str,
        request_id: str | None = None,
        path: AssistantPath = "pipeline",
    ) -> AssistantResult:
        """Answer a message of one of the users in `data.USERS`.

        Args:
            user: Id of the user.
            message: What the user says.
            channel: One of `CHANNELS`.
            conversation_id: The conversation, over whatever channels.
            request_id: Of the message; by default a new one.
            path: Whether one agent answers alone.
        """
        return await self.answer(
            AssistantRequest(
                request_id=request_id or uuid4().hex,
                conversation_id=conversation_id,
                message=message,
                channel=channel,
                to=f"{channel}:{conversation_id}",
                user=USERS[user],
                path=path,
            )
        )

    async def answer(self, request: AssistantRequest) -> AssistantResult:
        """Answer a message of anybody; EMAIL after a summary is answered by mail."""
        return await self.assistant.ask(await with_mail(request, self.runner))

    def deliveries(self, conversation_id: str) -> Sequence[OutgoingPart]:
        """What was sent in a conversation, part by part, in order."""
        return [each for each in self.outbox.sent() if each.to.partition(":")[2] == conversation_id]


@asynccontextmanager
async def open_core(options: Options, *, failures: Failures | None = None) -> AsyncIterator[Core]:
    """Open the assistant: what an earlier process has left open is taken up and sent.

    Args:
        options: How it runs.
        failures: What is to go wrong; may be switched later.
    """
    failures = failures or Failures()
    folder, metrics, logged = options.folder, QualityMetrics(), list[ValidationFailureLog]()
    folder.mkdir(parents=True, exist_ok=True)
    guide_path, limits_path = folder / "style_guide.yaml", folder / "channels.yaml"
    for path, text in ((guide_path, _GUIDE), (limits_path, _LIMITS)):
        if not path.exists():
            path.write_text(text, encoding="utf-8")
    guide = LiveFile(guide_path, StyleGuide, every=0.3)
    limits = LiveFile(limits_path, ChannelLimits, every=0.3)
    outbox = FileOutbox(folder / "outbox")
    models = models_of(options, failures)
    workflow = AssistantWorkflow(
        assistant_agents(models),
        judge(models["quality"]),
        refiner(models["refiner"]),
        senders=dict.fromkeys(CHANNELS, Outbox(outbox, failures, options.pace)),
        channels=Channels(limits=lambda: limits.value),
        guide=lambda: guide.edition,
        budgets=options.budgets,
        metrics=metrics,
        on_failure=logged.append,
        retry=Retry(attempts=2, first=0.2, jitter=0, on=NotSent),
    )
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(SqliteStore(folder / "assistant.db"))
        hub = await stack.enter_async_context(Hub())
        backend = Backend(failures)
        secrets = {"timesheet_token": TOKEN}
        open_runner = Runner(store, hub=hub, workflows=[workflow], secrets=secrets, deps=backend)
        runner = await stack.enter_async_context(open_runner)
        await stack.enter_async_context(guide.watched())
        await stack.enter_async_context(limits.watched())
        assistant = await stack.enter_async_context(Assistant(workflow, runner))
        for agent in workflow.agents:
            await runner.serve(agent)
        core = Core(assistant, runner, hub, guide, limits, guide_path, failures, metrics, logged, outbox)
        hub.register("assistant", partial(_answer, core), concurrency=None)
        await runner.recover()
        yield core


async def _answer(core: Core, request: AssistantRequest) -> AssistantResult:
    """Answer a message that comes over the hub."""
    return await core.answer(request)


def models_of(options: Options, failures: Failures) -> Mapping[str, Model | str]:
    """A model for each part. Verdicts are kept for an hour: the same answer from the same data is judged once."""
    if options.model is None:
        return local_models(failures, options.pace)
    small = options.small_model or options.model
    named = {part: small if part in _SMALL else options.model for part in _PARTS}
    return {**named, "quality": Cached(small, tenant=_TENANT)}
