"""Workflows and agents that the command is given by ``--app``."""

import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from stagepost.agents import Agent, FunctionModel, call, external_tool, tool
from stagepost.checkpoint import EncryptedStore, MemoryStore, SqliteStore
from stagepost.workflows import Chain, Parallel, Receive, Runner, State, StepContext, Wait, step

HOSTILE = "a \x1b[31mred\x1b[0m text\r\nwith \x9b2J two lines \u202ereversed"


@step
async def draft(state: State) -> Mapping[str, object]:
    return {"draft": HOSTILE}


@step
async def publish(state: State) -> Mapping[str, object]:
    if state.get("boom") and not os.path.exists(str(state["boom"])):  # noqa: ASYNC240, PTH110  # it is there at once
        raise ValueError(f"the press is {HOSTILE}")
    return {"published": True}


@step
async def pay(state: State, context: StepContext) -> Mapping[str, object]:
    return {"paid": await context.once("charge", _charge)}


async def _charge() -> str:
    return "charged"


digest = Chain("digest", [draft, Wait("approval", expect=bool, show=lambda state: {"draft": state["draft"]}), publish])
quick = Chain("quick", [draft, publish])


async def measure(path: str) -> int:
    with open(path, "rb") as found:  # noqa: ASYNC230, PTH123  # a small file
        return len(found.read())


shop = Chain("shop", [draft, pay, publish])
sizes = Chain("sizes", [Parallel("lengths", measure, over="paths"), publish])
mail = Chain("mail", [Receive("letter", expect=str)])
workflows = [digest, quick, mail, shop, sizes]
one = quick
changed = [Chain("digest", [draft, publish]), quick, mail, shop, sizes]  # what a deploy would bring that cannot go on
empty: list[object] = []
elsewhere = Runner(MemoryStore(), workflows=workflows)


def make(store: SqliteStore) -> Runner:
    return Runner(store, workflows=workflows, secrets={"token": "s3cret-token"})


KEY = b"k" * 32


def sealed(store: SqliteStore) -> Runner:
    return Runner(EncryptedStore(store, keys=KEY), workflows=workflows)


def sealed_otherwise(store: SqliteStore) -> Runner:
    return Runner(EncryptedStore(store, keys=b"o" * 32), workflows=workflows)


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


mails = [call("send_mail", to="ann"), call("send_mail", to="bob")]


def write(request: Any) -> Any:
    return mails if request.messages[-1].role == "user" else "Done."


mailer = Agent("mailer", prompt="M.", model=FunctionModel(write), tools=[send_mail])


class What(BaseModel):
    what: str


price = external_tool("price", "Asks for the price of something.", parameters=What, returns=int)


def buy(request: Any) -> Any:
    last = request.messages[-1]
    return call("price", what="tea") if last.role == "user" else f"It costs {last.text}."


buyer = Agent("buyer", prompt="B.", model=FunctionModel(buy), tools=[price])


def count(request: Any) -> Any:
    said = [message.text for message in request.messages if message.role == "user"]
    return call("look", city="Oslo") if request.messages[-1].text == "weather?" else f"message {len(said)}: {HOSTILE}"


clerk = Agent("clerk", prompt="C.", model=FunctionModel(count), tools=[look])
