"""A supervisor with two workers, whose models follow scripts and wait at gates."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any
from uuid import uuid4

import anyio

from stagepost.agents import Agent, FunctionModel, Model, ModelResponse, ScriptedModel, call, tool
from stagepost.checkpoint import MemoryStore
from stagepost.service.supervisor import (
    ChatEvent,
    ChatRequest,
    ChatSessions,
    Resumption,
    SupervisorFactory,
    TurnLimits,
    WorkerConfig,
    WorkerFactory,
)
from stagepost.workflows import Runner

WEATHER = WorkerConfig(
    name="weather", model="small", tools=("get_weather",), prompt_name="shop-weather", description="Weather of a city."
)
STOCK = WorkerConfig(
    name="stock", model="tiny", tools=("get_stock_price",), prompt_name="shop-stock", description="Prices of stocks."
)
WORKERS = (WEATHER, STOCK)
HOT = "In Miami it is 28 °C."
DEAR = "AAPL costs 150.25 USD."


@tool(idempotent=True)
async def get_weather(city_name: str, country_code: str | None = None) -> Mapping[str, Any]:
    """Get the weather of a city."""
    return {"city": city_name, "temperature": 28}


@tool(idempotent=True)
async def get_stock_price(ticker: str) -> Mapping[str, Any]:
    """Get the price of a stock."""
    if ticker == "NONE":
        raise RuntimeError("password=hunter2")
    return {"ticker": ticker, "price": 150.25}


class Gate:
    """Stands before a model, and lets its answers pass once it is open."""

    def __init__(self, model: Model, *, is_open: bool = False) -> None:
        self.model = model
        self.asked = 0
        self.reached = anyio.Event()  # by the last who has asked
        self.opened = anyio.Event()
        if is_open:
            self.opened.set()

    async def answer(self, request: Any) -> ModelResponse:
        self.asked += 1
        self.reached.set()
        await self.opened.wait()
        return await self.model.answer(request)


def weather_model() -> Model:
    return ScriptedModel([call("get_weather", city_name="Miami"), HOT])


def stock_model() -> Model:
    return ScriptedModel([call("get_stock_price", ticker="AAPL"), DEAR])


def both_asked() -> ModelResponse:
    """The supervisor says something, and asks both workers at once."""
    calls = (call("ask_weather_agent", request="Miami?"), call("ask_stock_agent", request="AAPL?"))
    return ModelResponse(text="Let me ask.", calls=calls)


def both() -> Model:
    return ScriptedModel([both_asked(), "28 °C, and 150.25 USD."])


def echo(request: Any) -> str:
    said = [message.text for message in request.messages if message.role == "user"]
    return " / ".join(said)


def supervisor(
    model: Model | None = None,
    *,
    weather: Model | None = None,
    stock: Model | None = None,
    workers: Sequence[WorkerConfig] = WORKERS,
    **more: Any,
) -> Agent[str]:
    """The supervisor; by default it repeats what users have said."""
    models = {"small": weather or weather_model(), "tiny": stock or stock_model()}
    factory = WorkerFactory([get_weather, get_stock_price], models=models)
    return SupervisorFactory(factory, model=model or FunctionModel(echo), **more).create(workers)


@asynccontextmanager
async def opened(
    agent: Agent[str],
    store: Any = None,
    *,
    limits: TurnLimits | None = None,
    workers: Sequence[WorkerConfig] = WORKERS,
    **options: Any,
) -> AsyncIterator[ChatSessions]:
    """The sessions of a supervisor."""
    store = store or MemoryStore()
    async with store, Runner(store, workflows=[agent], **options) as runner:
        await runner.recover()
        async with ChatSessions(runner, agent, workers, limits=limits) as sessions:
            yield sessions


def new_session() -> str:
    return str(uuid4())


async def heard(
    sessions: ChatSessions,
    message: str,
    session_id: str,
    *,
    until: Callable[[ChatEvent], bool] | None = None,
    **how: Any,
) -> list[ChatEvent]:
    """The events of a message, up to the first one that is awaited."""
    turn = await sessions.turn(ChatRequest(message=message, session_id=session_id), Resumption(**how))
    assert turn is not None
    found: list[ChatEvent] = []
    async with aclosing(turn.events()) as events:
        async for event in events:
            found.append(event)
            if until is not None and until(event):
                break
    return found


def text_of(events: Sequence[ChatEvent]) -> str:
    """What a page shows that joins the tokens."""
    text = ""
    for event in events:
        if event.name == "token":
            text += event.data["content"]
        elif event.name == "token_reset":
            text = text[: event.data["length"]]
    return text


def of_call(events: Sequence[ChatEvent], call_id: str) -> list[tuple[str, str]]:
    """The events of a call: their names, and what belongs to them without what differs from read to read."""
    return [
        (event.name, json.dumps({**event.data, "seq": 0, "timestamp": 0}, sort_keys=True))
        for event in events
        if event.data["call_id"] == call_id
    ]


def names(events: Sequence[ChatEvent]) -> list[str]:
    """Names of the events, tokens in a row as one."""
    found: list[str] = []
    for event in events:
        if event.name != "token" or found[-1:] != ["token"]:
            found.append(event.name)
    return found
