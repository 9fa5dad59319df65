"""Applications in this process, and clients of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from stagepost.checkpoint import MemoryStore
from stagepost.service import Scope, caller, create_app, new_key, page, read_json, serving
from stagepost.workflows import Runner

HOST = "http://localhost"
SECRET, KEY = new_key("ann", [Scope.READ])


class Wish(BaseModel):
    text: str
    count: int = 1


async def whoami(request: Request) -> Response:
    return JSONResponse({"name": caller(request, Scope.READ).name, "open": serving(request).runner.is_open})


async def change(request: Request) -> Response:
    caller(request, Scope.RUN)
    return JSONResponse({})


async def wish(request: Request) -> Response:
    caller(request, Scope.READ)
    return JSONResponse((await read_json(request, Wish)).model_dump())


async def broken(request: Request) -> Response:
    raise KeyError("a secret inside")


async def breaking(request: Request) -> Response:
    async def content() -> AsyncIterator[bytes]:
        yield b"begun"
        raise KeyError("a secret inside")

    return StreamingResponse(content())


async def shown(request: Request) -> Response:
    caller(request, Scope.READ)
    return page(request, "own/index.html", said="<b>&")


async def echo(request: Request) -> Response:
    return JSONResponse(request.path_params)


async def large(request: Request) -> Response:
    return Response(b"x" * 2**24)


ROUTES = [
    Route("/whoami", whoami, methods=["GET", "POST"]),
    Route("/change", change, methods=["POST"]),
    Route("/wish", wish, methods=["POST"]),
    Route("/broken", broken),
    Route("/large", large),
    Route("/breaking", breaking),
    Route("/shown", shown),
    Route("/echo/{rest:path}", echo),
]


def app(**options: Any) -> Starlette:
    given: dict[str, Any] = {"keys": [KEY], "routes": ROUTES, **options}
    return create_app(Runner(MemoryStore()), **given)


@asynccontextmanager
async def client(served: Starlette, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a key; the application has started."""
    given = {"base_url": HOST, **options}
    transport = httpx.ASGITransport(served, client=given.pop("client", ("127.0.0.1", 1)))
    async with served.router.lifespan_context(served), httpx.AsyncClient(transport=transport, **given) as made:
        yield made
