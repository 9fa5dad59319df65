"""The application: a supervisor with four workers, its routes, and the page."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stagepost.agents import Agent, Model
from stagepost.checkpoint import SqliteStore
from stagepost.service import Key, RequestLimits, Scope, Serving, caller, create_app, page
from stagepost.service.supervisor import SupervisorFactory, SupervisorService, TurnLimits, WorkerFactory
from stagepost.workflows import Runner

from .desk import desk_tools
from .knowledge import Knowledge, knowledge_tool
from .local import LocalModel
from .stocks import stock_tool
from .weather import weather_tool
from .workers import PROMPTS, worker_configs

PAGES: Final = Path(__file__).with_name("page")
LOCAL: Final = "local"
SUGGESTIONS: Final = (
    ("One worker", ("What's the weather in Miami?", "What happens at a SIGKILL?")),
    ("Several at once", ("How warm is it in Paris and in Tokyo, how is Apple doing, and what is a call in doubt?",)),
    ("It asks you first", ("Sell 20 shares of Tesla", "Buy some Nvidia shares")),
    ("Kill the server meanwhile", ("Send a report about Apple to ann@example.org",)),
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How it is served.

    Attributes:
        folder: Where sessions are kept, and what the desk sends.
        model: Name of a provider's model that supervisor and workers ask; None for the local one.
    """

    folder: Path
    model: str | None = None
    pace: float = 1.0
    work: float = 1.0


def chat_app(options: Options, *, keys: Iterable[Key] = (), model: Model | None = None) -> Starlette:
    """Make the application.

    Args:
        options: How it is served.
        keys: Who may use it; without any, only people on this machine.
        model: Asked in the place of the local model.
    """
    options.folder.mkdir(parents=True, exist_ok=True)
    knowledge = Knowledge()
    supervisor = _supervisor(options, knowledge, model)
    service = SupervisorService(supervisor, worker_configs(LOCAL), limits=TurnLimits(waits=False))

    @asynccontextmanager
    async def lifespan(serving: Serving) -> AsyncIterator[None]:
        with closing(knowledge):
            async with service.lifespan(serving):
                yield

    return create_app(
        Runner(SqliteStore(options.folder / "sessions.db"), workflows=[supervisor]),
        keys=keys,
        limits=RequestLimits(requests="60/minute"),
        routes=[Route("/", home), *service.routes],
        lifespan=lifespan,
        pages={"chat": PAGES},
    )


def _supervisor(options: Options, knowledge: Knowledge, model: Model | None) -> Agent[str]:
    """The supervisor, with workers whose tools take so long that one sees them at work."""
    work = options.work
    local = model or LocalModel(thinking=0.5 * options.pace, writing=0.04 * options.pace)
    tools = [
        weather_tool(seconds=1.2 * work),
        stock_tool(seconds=0.8 * work),
        knowledge_tool(knowledge, seconds=1.0 * work),
        *desk_tools(options.folder, seconds=6.0 * work),
    ]
    workers = WorkerFactory(tools, prompts=PROMPTS, models={LOCAL: local})
    return SupervisorFactory(workers, model=options.model or local).create(worker_configs(options.model or LOCAL))


async def home(request: Request) -> Response:
    """The page."""
    caller(request, Scope.READ)
    names = [worker.name for worker in worker_configs(LOCAL)]
    return page(request, "chat/index.html", workers=names, suggestions=SUGGESTIONS)
