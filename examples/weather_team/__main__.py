"""Ask a team: ``python -m weather_team``. Streams show what it does; a report waits for your approval.

With ``--store FILE`` the tasks stay: kill it wherever you like, and the same command goes on where it was.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from stagepost.agents import (
    Agent,
    Allow,
    ApprovalAsked,
    ApprovalDecided,
    Deny,
    StreamPart,
    TaskCompleted,
    TaskFailed,
    Tasks,
    ToolCalled,
    ToolReturned,
)
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

from .local import LocalModel
from .team import weather_team

QUESTIONS: Final = (
    "How is it in Oslo and Miami? Send a report to Ann.",
    "And tomorrow?",
)


async def work(store: Path, questions: Sequence[str], decision: str, pace: float) -> None:
    """Ask each question: the second one and those after it follow up on the one before."""
    sent: list[str] = []
    lead = weather_team(os.environ.get("STAGEPOST_MODEL") or LocalModel(pace))
    async with SqliteStore(store) as opened, Runner(opened, workflows=[lead], deps=sent) as runner:
        await runner.recover()
        tasks = Tasks(runner)
        for number, question in enumerate(questions):
            task_id = f"weather-{number}"
            print(f"\n> {question}")
            await (_start if number == 0 else _follow_up)(tasks, lead, question, task_id)
            await show(tasks, task_id, decision)
    for report in sent:
        print(f"\nSent {report}")


async def _start(tasks: Tasks, lead: Agent[str], question: str, task_id: str) -> None:
    await tasks.start(lead, question, task_id=task_id)


async def _follow_up(tasks: Tasks, _: Agent[str], question: str, task_id: str) -> None:
    before = f"weather-{int(task_id.rpartition('-')[2]) - 1}"
    await tasks.follow_up(before, question, new_id=task_id)


async def show(tasks: Tasks, task_id: str, decision: str) -> None:
    """Show a task from its beginning, and decide what it asks on the way."""
    async with tasks.stream(task_id) as stream:
        async for part in stream:
            for line in told(part):
                print(line, flush=True)
            if isinstance(part, ApprovalAsked) and part.approval_id in await _open(tasks):
                await decide(tasks, part, decision)


async def _open(tasks: Tasks) -> set[str]:
    """The approvals that nobody has decided about."""
    return {approval.id for approval in await tasks.approvals()}


async def decide(tasks: Tasks, asked: ApprovalAsked, decision: str) -> None:
    """Approve a call, or deny it: as the command line says, or as somebody at the terminal does."""
    said = decision
    if decision == "ask":
        question = partial(input, "  Approve? [y/N] ")
        said = "allow" if (await anyio.to_thread.run_sync(question)).strip().lower() in ("y", "yes") else "deny"
    verdict = Allow() if said == "allow" else Deny("somebody has said no")
    await tasks.decide(asked.approval_id, verdict, by="you")


def told(part: StreamPart) -> list[str]:
    """A part in a line, or in none."""
    who = part.path[-1] if part.path else "lead"
    said = ""
    match part:
        case ToolCalled():
            said = f"  {who}: {part.phrase}"
        case ToolReturned(name="get_weather"):
            said = f"  {who}: {part.result}"
        case ApprovalAsked():
            said = f"  {part.tool} waits for an approval: {part.arguments}"
        case ApprovalDecided():
            said = "  It was decided."
        case TaskCompleted():
            said = str(part.result)
        case TaskFailed():
            said = f"It has failed: {part.error}"
    return [said] if said else []


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="weather_team", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("questions", nargs="*", default=QUESTIONS, help="the first one, and what follows up on it")
    parser.add_argument("--store", type=Path, help="a file for the tasks; by default one that is thrown away")
    parser.add_argument("--decide", choices=["allow", "deny", "ask"], help="about the report; ask at a terminal")
    parser.add_argument("--pace", type=float, default=0.02, help="seconds for each word of the local model")
    options = parser.parse_args()
    decision = options.decide or ("ask" if sys.stdin.isatty() else "allow")
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(work, options.store or Path(folder) / "team.db", options.questions, decision, options.pace)
    return 0


if __name__ == "__main__":
    sys.exit(main())
