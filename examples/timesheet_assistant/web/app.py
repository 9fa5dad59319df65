"""The application: the page, what it asks for, and the routes of runs, by which it follows each answer."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from supervisor_service.app import PAGES as CHAT

from stagepost.service import HealthCheck, Key, Scope, caller, create_app, page, read_json
from stagepost.service.assistant import AssistantRequest

from ..backend import Failures
from ..core import Options
from ..data import USERS
from .desk import Desk, PathChoice

PAGES: Final = Path(__file__).with_name("page")
LONGEST: Final = 2000
CHANNELS: Final = (("sms", "SMS"), ("whatsapp", "WhatsApp"), ("email", "Email"), ("teams", "Teams"))
SUGGESTIONS: Final = (
    ("sms", "Check my timesheet", "fails a criterion, and is refined"),
    ("sms", "List all entries of last month", "goes out in parts"),
    ("whatsapp", "Give me a summary of this week", "bold and italic"),
    ("email", "Give me a summary of last week", "a mail with a table"),
    ("teams", "Give me a summary of last week", "an adaptive card"),
)
FAILURES: Final[Mapping[str, str]] = {
    "data_down": "The timesheets cannot be reached",
    "composer_down": "The model that writes fails",
    "judge_down": "The model that judges fails",
    "refiner_stubborn": "The refiner changes nothing",
    "planner_slow": "The planner is too slow",
    "sender_down": "Nothing can be sent",
}


class Message(BaseModel):
    """What the page sends."""

    request_id: Annotated[str, Field(pattern=r"^[\w-]{8,64}$")]
    conversation_id: Annotated[str, Field(pattern=r"^[\w-]{8,64}$")]
    message: Annotated[str, Field(min_length=1, max_length=LONGEST, pattern=r"\S")]
    channel: Literal["sms", "whatsapp", "email", "teams"]
    user: Literal["ada", "kenji", "maria"] = "ada"
    path: PathChoice = "pipeline"


class Style(BaseModel):
    """The text of the style guide."""

    text: Annotated[str, Field(max_length=20_000)]


class Switches(BaseModel):
    """What is to go wrong from now on."""

    data_down: bool = False
    composer_down: bool = False
    judge_down: bool = False
    refiner_stubborn: bool = False
    planner_slow: bool = False
    sender_down: bool = False


def web_app(options: Options, *, keys: Iterable[Key] = ()) -> Starlette:
    """Make the application.

    Args:
        options: How the assistant runs.
        keys: Who may use it; without any, only people on this machine.
    """
    desk = Desk(options)
    routes = _Routes(desk)
    return create_app(
        desk.opened,
        keys=keys,
        routes=[
            Route("/", routes.home),
            Route("/assistant", routes.ask, methods=["POST"]),
            Route("/assistant/{conversation}", routes.said),
            Route("/style-guide", routes.style, methods=["GET", "POST"]),
            Route("/failures", routes.failures, methods=["GET", "POST"]),
        ],
        pages={"assistant": PAGES, "chat": CHAT},  # the chat's files: what reads streams, and makes elements
        checks=[
            HealthCheck("style guide", desk.look, is_needed=False),
            HealthCheck("channels", desk.look_at_channels, is_needed=False),
            HealthCheck("rollout", desk.rollout.look, is_needed=False),
        ],
    )


class _Routes:
    """What the page asks for."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def home(self, request: Request) -> Response:
        caller(request, Scope.READ)
        users = [(user.id, user.name, user.time_zone) for user in USERS.values()]
        return page(
            request,
            "assistant/index.html",
            users=users,
            channels=CHANNELS,
            suggestions=SUGGESTIONS,
            failures=FAILURES,
            longest=LONGEST,
        )

    async def ask(self, request: Request) -> Response:
        caller(request, Scope.RUN)
        asked = await read_json(request, Message)
        path = await self._desk.path(
            asked.path, conversation=asked.conversation_id, user=asked.user, channel=asked.channel
        )
        started = await self._desk.start(
            AssistantRequest(
                **asked.model_dump(exclude={"user", "path"}),
                path=path,
                to=f"{asked.channel}:{asked.conversation_id}",
                user=USERS[asked.user],
            )
        )
        return JSONResponse({"run_id": started.run_id, "channel": started.labels.get("channel")}, HTTPStatus.ACCEPTED)

    async def said(self, request: Request) -> Response:
        caller(request, Scope.READ)
        runs = await self._desk.said(request.path_params["conversation"])
        return JSONResponse([{"run_id": run.run_id, "channel": run.labels.get("channel")} for run in runs])

    async def style(self, request: Request) -> Response:
        caller(request, Scope.READ if request.method == "GET" else Scope.ADMIN)
        if request.method == "GET":
            return JSONResponse(await self._desk.style())
        return JSONResponse(await self._desk.restyle((await read_json(request, Style)).text))

    async def failures(self, request: Request) -> Response:
        caller(request, Scope.READ if request.method == "GET" else Scope.ADMIN)
        if request.method == "POST":
            _switch(self._desk.failures, await read_json(request, Switches))
        return JSONResponse(asdict(self._desk.failures))


def _switch(failures: Failures, switches: Switches) -> None:
    for name, is_on in switches.model_dump().items():
        setattr(failures, name, is_on)
