"""The assistant in a terminal: say something, switch the channel, see what was judged and what was sent."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Final, TextIO

from stagepost.agents.quality import QualityStatistics, Scorecard
from stagepost.service.assistant import AssistantPath, AssistantResult
from stagepost.service.channels import ResponsePart

from .backend import Failures
from .core import CHANNELS, Core
from .data import USERS

HELP: Final = f"""\
Say what you want to know: "Check my timesheet", "And last week?", "List all entries of last month".
Too long for SMS: "List all entries from 2020-01-01 to 2099-12-31", and then "EMAIL".
  /channel NAME   {", ".join(CHANNELS)}
  /user NAME      {", ".join(USERS)} (a conversation of its own)
  /fail NAME      switch a failure on or off: {", ".join(each.name for each in fields(Failures))}
  /single         switch between the pipeline and one agent alone
  /stats          what has become of all answers so far
  /help, /quit"""

EXAMPLES: Final = (
    "/channel sms",
    "Check my timesheet",
    "And what about yesterday?",
    "List all entries of last month",
    "/channel email",
    "Give me a summary of last week",
    "/channel sms",
    "/fail data_down",
    "Check my timesheet",
    "/fail data_down",
    "/stats",
)
"""What ``--demo`` says."""


@dataclass
class Talk:
    """A conversation at a terminal.

    Attributes:
        core: The assistant.
        out: Where it is shown.
        name: Begins the ids of its conversations.
        channel: The channel of the next message.
        user: Who says it.
        path: How it is answered.
    """

    core: Core
    out: TextIO
    name: str
    channel: str = "sms"
    user: str = "ada"
    path: AssistantPath = "pipeline"

    async def hold(self, lines: AsyncIterator[str]) -> None:
        """Talk until there is nothing more to say."""
        self.show([HELP, ""])
        async for line in lines:
            said = line.strip()
            if said in ("/quit", "/exit"):
                break
            if said:
                await self.heed(said)

    async def heed(self, said: str) -> None:
        """Do what was said: a command, or a message for the assistant."""
        if not said.startswith("/"):
            await self.ask(said)
            return
        command, _, value = said[1:].partition(" ")
        match command, value.strip():
            case "channel", name if name in CHANNELS:
                self.channel = name
                self.show([f"The next answers go out by {name}."])
            case "user", name if name in USERS:
                self.user = name
                self.show([f"You are {USERS[name].name} now, in {USERS[name].time_zone}."])
            case "fail", name if hasattr(self.core.failures, name):
                is_on = not getattr(self.core.failures, name)
                setattr(self.core.failures, name, is_on)
                self.show([f"{name} is {'on' if is_on else 'off'}."])
            case "single", "":
                self.path = "single" if self.path == "pipeline" else "pipeline"
                self.show([f"Answers come from {'one agent alone' if self.path == 'single' else 'the pipeline'}."])
            case "stats", "":
                self.show(counted(self.core.metrics.statistics()))
            case _:
                self.show([HELP])

    async def ask(self, message: str) -> None:
        """Ask the assistant, and show its answer."""
        conversation = f"{self.name}-{self.user}"
        result = await self.core.ask(
            self.user, message, channel=self.channel, conversation_id=conversation, path=self.path
        )
        self.show(answered(result))

    def show(self, lines: Iterable[str]) -> None:
        """Write some lines."""
        self.out.write("".join(f"{line}\n" for line in lines))
        self.out.flush()


def answered(result: AssistantResult) -> list[str]:
    """An answer: how it was judged, and what was sent."""
    lines: list[str] = []
    for number, scorecard in enumerate(result.scorecards):
        lines += judged("refined answer" if number else "first answer", scorecard)
        if number == 0 and result.refinement_attempted:
            lines.append("  → refined once, with the data and what has failed")
    lines += [f"  not judged: {warning}" for warning in result.metadata.warnings]
    lines += sent(result.formatted_response.parts, result.channel)
    data = result.metadata
    how = "apology" if result.graceful_failure else "passed" if result.validation_passed else "not judged"
    review = ", to be reviewed" if data.needs_review else ""
    lines.append(f"  {how}{review}; {data.llm_calls} model calls, {data.duration_ms:.0f} ms")
    if data.reason:
        lines.append(f"  because {data.reason.splitlines()[0]}")
    return [*lines, ""]


def counted(numbers: QualityStatistics) -> list[str]:
    """Numbers about all answers so far."""
    rates = {
        "passed at first": numbers.pass_rate,
        "refined": numbers.refinement_rate,
        "of these healed": numbers.refinement_success_rate,
        "apologies": numbers.graceful_failure_rate,
    }
    said = [f"{name} {share:.0%}" for name, share in rates.items() if share is not None]
    lines = [f"{numbers.requests} answers, {numbers.reviews} to be reviewed; {', '.join(said)}"]
    for stage, times in numbers.stages.items():
        lines.append(f"  {stage:<10}{times.p50 * 1000:7.0f} ms   p95 {times.p95 * 1000:7.0f} ms")
    return lines


def judged(title: str, scorecard: Scorecard) -> list[str]:
    """A scorecard, criterion by criterion."""
    marks = {True: "✓", False: "✗", None: "?"}
    lines = [f"  {title}:"]
    for criterion in scorecard.criteria:
        why = f": {criterion.feedback}" if criterion.feedback else ""
        lines.append(f"    {marks[criterion.passed]} {criterion.id}{why}")
    return lines


def sent(parts: Sequence[ResponsePart], channel: str) -> list[str]:
    """The parts that were sent, each in a frame."""
    lines: list[str] = []
    for part in parts:
        which = f" {part.sequence} of {len(parts)}" if len(parts) > 1 else ""
        lines.append(f"┌ {channel}{which}, {len(part.content):,} characters")
        lines += [f"│ Subject: {part.subject}"] if part.subject else []
        lines += [f"│ {line}" for line in part.content.splitlines()]
        lines.append("└")
    return lines
