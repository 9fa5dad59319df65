"""A supervisor as a process of its own: on the socket and in the folder that it is given.

The weather worker's model waits for a file ``open`` once its tool was called; ``calls.txt`` counts the calls.
"""

import sys
from pathlib import Path

import anyio
import uvicorn
from tests.service.supervisor._shop import DEAR, HOT, STOCK, WEATHER

from stagepost.agents import FunctionModel, Model, ModelRequest, ModelResponse, ScriptedModel, ToolCall, call, tool
from stagepost.checkpoint import SqliteStore
from stagepost.service.supervisor import SupervisorFactory, WorkerFactory, create_supervisor_app
from stagepost.workflows import Runner

FOLDER = Path(sys.argv[2])
CAREFUL = STOCK.model_copy(update={"needs_approval": True})


@tool
async def get_weather(city_name: str) -> str:
    """Get the weather of a city."""
    with (FOLDER / "calls.txt").open("a") as calls:
        calls.write(f"{city_name}\n")
    return '{"temperature": 28}'


@tool(idempotent=True)
async def get_stock_price(ticker: str) -> str:
    """Get the price of a stock."""
    return f'{{"ticker": "{ticker}", "price": 150.25}}'


async def answer(request: ModelRequest) -> ToolCall | str:
    if request.messages[-1].role != "tool":
        return call("get_weather", city_name="Miami")
    while not (FOLDER / "open").exists():  # noqa: ASYNC110  # another process makes it
        await anyio.sleep(0.01)
    return HOT


def asked() -> ModelResponse:
    calls = (call("ask_weather_agent", request="Miami?"), call("ask_stock_agent", request="AAPL?"))
    return ModelResponse(text="Let me ask.", calls=calls)


workers = (WEATHER, CAREFUL)
models: dict[str, Model] = {
    "small": FunctionModel(answer),
    "tiny": ScriptedModel([call("get_stock_price", ticker="AAPL"), DEAR]),
}
factory = SupervisorFactory(
    WorkerFactory([get_weather, get_stock_price], models=models), model=ScriptedModel([asked(), "All is said."])
)
supervisor = factory.create(workers)
runner = Runner(SqliteStore(FOLDER / "chats.db"), workflows=[supervisor], max_attempts=100)
uvicorn.run(
    create_supervisor_app(runner, supervisor, workers),
    fd=int(sys.argv[1]),
    log_level="warning",
    timeout_graceful_shutdown=1,
)
