"""Workflows and agents that the command is given by ``--app``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stagepost.agents import Agent, FunctionModel, ScriptedModel, call, tool
from stagepost.checkpoint import MemoryStore, SqliteStore
from stagepost.workflows import Chain, Receive, Runner, State, StepContext, Wait, step

HOSTILE = "a \x1b[31mred\x1b[0m text\r\nwith \x9b2J two lines \u202ereversed"


@step
async def draft(state: State) -> Mapping[str, object]:
    return {"draft": HOSTILE}


@step
async def publish(state: State) -> Mapping[str, object]:
    if state.get("boom") and not Path(str(state["boom"])).exists():
        raise ValueError(f"the press is {HOSTILE}")
    return {"published": True}


@step
async def pay(state: State, context: StepContext) -> Mapping[str, object]:
    return {"paid": await context.once("charge", _charge)}


async def _charge() -> str:
    return "charged"


digest = Chain("digest", [draft, Wait("approval", expect=bool, show=lambda state: {"draft": state["draft"]}), publish])
quick = Chain("quick", [draft, publish])
mail = Chain("mail", [Receive("letter", expect=str)])
workflows = [digest, quick, mail]
one = quick
changed = [Chain("digest", [draft, publish]), quick, mail]  # what a deploy would bring that cannot go on
empty: list[object] = []
elsewhere = Runner(MemoryStore(), workflows=workflows)


def make(store: SqliteStore) -> Runner:
    return Runner(store, workflows=workflows, secrets={"token": "s3cret-token"})


def list_of() -> list[Any]:
    return workflows


def broken() -> Runner:
    raise RuntimeError("no database")


@tool(needs_approval=True)
async def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


@tool(idempotent=True)
async def look(city: str) -> str:
    """Look out of the window."""
    return f"rain in {city}"


mailer = Agent("mailer", prompt="M.", model=ScriptedModel([[call("send_mail", to="ann"), call("send_mail", to="bob")], "Done."]), tools=[send_mail])  # fmt: skip


def count(request: Any) -> Any:
    said = [message.text for message in request.messages if message.role == "user"]
    return call("look", city="Oslo") if request.messages[-1].text == "weather?" else f"message {len(said)}: {HOSTILE}"


clerk = Agent("clerk", prompt="C.", model=FunctionModel(count), tools=[look])
