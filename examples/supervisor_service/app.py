"""The application: a supervisor with four workers, its routes, and the page."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stagepost.agents import Model, Tool
from stagepost.checkpoint import SqliteStore
from stagepost.service import HealthCheck, Key, Scope, Serving, caller, page
from stagepost.service.supervisor import (
    AgentLog,
    Guardrails,
    SupervisorFactory,
    TurnLimits,
    WorkerFactory,
    create_supervisor_app,
)
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
    configs = worker_configs(options.model or LOCAL)
    local = model or LocalModel(thinking=0.5 * options.pace, writing=0.04 * options.pace)
    workers = WorkerFactory(
        _tools(options, knowledge), prompts=PROMPTS, models={LOCAL: local}, hooks=[AgentLog(configs)]
    )
    factory = SupervisorFactory(workers, model=options.model or local, hooks=[AgentLog(configs), Guardrails()])
    supervisor = factory.create(configs)

    @asynccontextmanager
    async def lifespan(_serving: Serving) -> AsyncIterator[None]:
        with closing(knowledge):
            yield

    async def look() -> str:
        return f"{len(knowledge)} articles"

    return create_supervisor_app(
        Runner(SqliteStore(options.folder / "sessions.db"), workflows=[supervisor]),
        supervisor,
        configs,
        turns=TurnLimits(waits=False),
        keys=keys,
        routes=[Route("/", home)],
        lifespan=lifespan,
        pages={"chat": PAGES},
        checks=[HealthCheck("knowledge", look, is_needed=False)],
    )


def _tools(options: Options, knowledge: Knowledge) -> Sequence[Tool[..., object]]:
    """The tools of the workers: they take so long that one sees them at work."""
    return [
        weather_tool(seconds=1.2 * options.work),
        stock_tool(seconds=0.8 * options.work),
        knowledge_tool(knowledge, seconds=1.0 * options.work),
        *desk_tools(options.folder, seconds=6.0 * options.work),
    ]


async def home(request: Request) -> Response:
    """The page."""
    caller(request, Scope.READ)
    names = [worker.name for worker in worker_configs(LOCAL)]
    return page(request, "chat/index.html", workers=names, suggestions=SUGGESTIONS)
