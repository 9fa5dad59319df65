"""What the pipeline of an assistant adds to the time of its models: alone, and with many conversations at once."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

import anyio
from benchmarks.page import PAGE, write

from stagepost.agents import Agent, FunctionModel, ModelRequest, ToolCall, call
from stagepost.agents.quality import Judge, judge_agent, refiner_agent
from stagepost.checkpoint import SqliteStore
from stagepost.service.assistant import (
    Assistant,
    AssistantAgents,
    AssistantRequest,
    AssistantWorkflow,
    Composed,
    Extracted,
    Plan,
    StageBudgets,
    User,
)
from stagepost.service.channels import OutgoingPart
from stagepost.workflows import Runner

BEGIN: Final = "<!-- benchmarks.assistant writes from here -->"
END: Final = "<!-- assistant ends here -->"
WANTED_ALONE: Final = 0.030  # seconds beside the models
WANTED_LATE: Final = 0.250  # seconds at the 95th percentile

_CALLS: Final = {"passes": 4, "is refined": 6}  # of models, for an answer
_PERIOD: Final = "You have entered 32 of 40 hours this week."
_LATE: Final = 0.95


class Sent:
    """Takes answers out of the house at once."""

    takes_our_id: Final = True

    async def send(self, delivery: OutgoingPart) -> str:
        """Send a part."""
        return delivery.id


class Taken(NamedTuple):
    """What some answers took.

    Attributes:
        later: Seconds of each beside its models.
        processor: Seconds of processor time for one.
    """

    later: Sequence[float]
    processor: float


def workflow(seconds: float, *, refined: bool) -> AssistantWorkflow:
    """A pipeline whose models take so long each.

    Args:
        seconds: How long.
        refined: Whether the first answer fails.
    """

    def model(**said: Any) -> FunctionModel:
        async def answer(_: ModelRequest) -> ToolCall:
            await anyio.sleep(seconds)
            return call("return", **said)

        return FunctionModel(answer)

    async def judge(request: ModelRequest) -> ToolCall:
        await anyio.sleep(seconds)
        asked = json.loads(next(each.text for each in request.messages if each.role == "user"))
        return call("return", verdicts=[{"id": each["id"], "passed": True} for each in asked["criteria"]])

    first = "**32** of 40 hours this week." if refined else _PERIOD
    plan = model(needs_data=True, data_request={"period": "this_week"}, kind="timesheet_check")
    agents = AssistantAgents(
        planner=Agent("planner", "Plan.", model=plan, output=Plan),
        data=Agent("data", "Look up.", model=model(success=True, data={"hours": 32, "of": 40}), output=Extracted),
        composer=Agent("composer", "Write.", model=model(response=first), output=Composed),
    )
    judged, refiner = Judge(judge_agent(FunctionModel(judge))), refiner_agent(model(response=_PERIOD))
    patient = StageBudgets.of(60)  # a model that takes as long as its stage may take would be judged late by chance
    return AssistantWorkflow(agents, judged, refiner, senders={"sms": Sent()}, budgets=patient)


async def answers(folder: Path, count: int, seconds: float, *, refined: bool, at_once: bool) -> Taken:
    """Ask for some answers, each in a conversation of its own.

    Args:
        folder: Where the store is.
        count: How many.
        seconds: How long each call of a model takes.
        refined: Whether each is refined.
        at_once: All at once, or one after the other.
    """
    pipeline = workflow(seconds, refined=refined)
    waiting = seconds * _CALLS["is refined" if refined else "passes"]
    async with (
        SqliteStore(folder / "assistant.db") as store,
        Runner(store, workflows=[pipeline]) as runner,
        Assistant(pipeline, runner) as assistant,
    ):
        await _asked(assistant, "warm", waiting)
        begun, later = process_time(), list[float]()

        async def ask(number: int) -> None:
            later.append(await _asked(assistant, str(number), waiting))

        if at_once:
            async with anyio.create_task_group() as group:
                for number in range(count):
                    group.start_soon(ask, number)
        else:
            for number in range(count):
                await ask(number)
        return Taken(sorted(later), (process_time() - begun) / count)


async def _asked(assistant: Assistant, name: str, waiting: float) -> float:
    """How much later than its models an answer comes."""
    user = User(id="ada", name="Ada", time_zone="Europe/Oslo")
    request = AssistantRequest(
        request_id=name, conversation_id=name, message="Check my timesheet", channel="sms", to="+47", user=user
    )
    begun = perf_counter()
    await assistant.ask(request)
    return perf_counter() - begun - waiting


def report(rounds: int, count: int, seconds: float) -> str:
    """Measure, and return the table as Markdown."""
    load = f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f} before"
    made = (
        f"`python -m benchmarks.assistant {' '.join(sys.argv[1:])}` on {datetime.now(UTC):%Y-%m-%d}: Python "
        f"{platform.python_version()}, {platform.system()} {platform.machine()}, {load}, medians of {rounds} rounds, "
        f"models that take {seconds:g} s for each call."
    )
    head = ["| an answer that | later than its models | p95 | processor | wanted |", "|---|--:|--:|--:|--:|"]
    rows = [
        _row(rounds, count, seconds, refined=refined, at_once=at_once)
        for at_once in (False, True)
        for refined in (False, True)
    ]
    return "\n".join([made, "", *head, *rows])


def _row(rounds: int, count: int, seconds: float, *, refined: bool, at_once: bool) -> str:
    taken: list[Taken] = []
    for _ in range(rounds):
        with TemporaryDirectory() as folder:
            wait = seconds if at_once else 0.0  # one after the other there is nothing to wait for
            given = anyio.run(_measured, Path(folder), count, wait, refined, at_once)
            taken.append(given)
    middle = median(median(each.later) for each in taken)
    late = median(each.later[ceil(_LATE * count) - 1] for each in taken)
    processor = median(each.processor for each in taken)
    name = f"{'is refined' if refined else 'passes'}, {f'{count} at once' if at_once else 'alone'}"
    wanted = f"p95 ≤ {WANTED_LATE * 1000:.0f} ms" if at_once else f"≤ {WANTED_ALONE * 1000:.0f} ms"
    return f"| {name} | {middle * 1000:.0f} ms | {late * 1000:.0f} ms | {processor * 1000:.1f} ms | {wanted} |"


async def _measured(folder: Path, count: int, seconds: float, refined: bool, at_once: bool) -> Taken:  # noqa: FBT001  # anyio.run takes no keywords
    return await answers(folder, count, seconds, refined=refined, at_once=at_once)


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.assistant", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="how many times each row has its turn")
    parser.add_argument("--count", type=int, default=50, help="how many answers a round has")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each call of a model takes")
    parser.add_argument("--write", action="store_true", help=f"put the table into docs/{PAGE.name}")
    options = parser.parse_args()
    text = report(options.rounds, options.count, options.seconds)
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
