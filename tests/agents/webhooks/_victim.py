"""A process that delivers webhooks and is killed: three tasks, each with calls, an approval, and an agent below."""

import sys
from pathlib import Path

import anyio
from tests.agents.webhooks._hooks import SECRET

from stagepost.agents import (
    Agent,
    AgentTool,
    Allow,
    Retries,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    Webhooks,
    call,
    tool,
)
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

TASKS = ("t0", "t1", "t2")
ONE = "t0"  # has a webhook of its own, too
_LEAD: list[ScriptEntry] = [
    call("look", city="Oslo"),
    call("ask_helper", request="Which way?"),
    call("pay", amount=3),
    [call("look", city="Rome"), call("look", city="Bern")],
    "done",
]
_HELPER: list[ScriptEntry] = [call("look", city="Lima"), "that way"]


@tool(idempotent=True)
async def look(city: str) -> str:
    """Look at a city."""
    return f"{city} is fine"


@tool(idempotent=True, needs_approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def lead() -> Agent[str]:
    """The agent as each process builds it."""
    helper = Agent("helper", description="Knows the way.", prompt="Help.", model=ScriptedModel(_HELPER), tools=[look])
    return Agent(
        "lead", prompt="Lead.", model=ScriptedModel(_LEAD), tools=[look, pay, AgentTool(helper, name="ask_helper")]
    )


async def life(folder: str, url: str) -> None:
    """Go on with whatever is open, until all is delivered."""
    async with (
        SqliteStore(Path(folder) / "runs.db", lock_timeout=30) as store,
        Runner(store, workflows=[lead()], max_attempts=None) as runner,
        Webhooks(runner, secret=SECRET, retries=Retries(attempts=1000, first=0.01, most=0.1, jitter=0)) as webhooks,
    ):
        await webhooks.add_for_all(f"{url}/all")
        await runner.recover()
        tasks = Tasks(runner)
        runs = [await tasks.start("lead", "Go.", task_id=task_id) for task_id in TASKS]
        if not (Path(folder) / "added").exists():
            await webhooks.add(ONE, f"{url}/one")
            (Path(folder) / "added").touch()
        async with anyio.create_task_group() as group:
            group.start_soon(_approve, tasks)
            for run in runs:
                await run.result()
            group.cancel_scope.cancel()
        while any(webhook.tasks for webhook in await webhooks.list()):
            await anyio.wait_all_tasks_blocked()
    sys.stdout.write("delivered\n")


async def _approve(tasks: Tasks) -> None:
    while True:
        for wanted in await tasks.approvals():
            await tasks.decide(wanted.id, Allow(), by="ann")
        await anyio.wait_all_tasks_blocked()


if __name__ == "__main__":
    anyio.run(life, sys.argv[1], sys.argv[2])
