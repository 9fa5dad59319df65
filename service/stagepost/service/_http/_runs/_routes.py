"""The routes, made from the table of operations."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ..._keys._caller import Caller
from ..._keys._key import Scope
from ..._verbs._scopes import SCOPES
from .._bodies import read_json
from .._serving import caller, serving
from ._events import run_events, starts_stream, wants_events
from ._openapi import Document
from ._operation import Call, Operation
from ._operations import OPERATIONS
from ._reading import read_key, read_query

_JSON: Final = "application/json"


def run_routes() -> Sequence[BaseRoute]:
    """The routes of runs: one for each path, so that what else it takes is known when a method is refused."""
    by_path: dict[str, dict[str, Operation]] = {}
    for each in OPERATIONS:
        by_path.setdefault(each.path, {})[each.method] = each
    return [Route(path, partial(_chosen, operations), methods=list(operations)) for path, operations in by_path.items()]


def document_route(others: Sequence[Operation]) -> BaseRoute:
    """The route of the document that describes all routes.

    Args:
        others: What can be asked for beside runs.
    """
    return Route("/openapi.json", partial(_described, Document([*OPERATIONS, *others])), methods=["GET"])


async def _chosen(operations: Mapping[str, Operation], request: Request) -> Response:
    operation = operations["GET" if request.method == "HEAD" else request.method]
    return await (_answered if operation.act else _streamed)(operation, request)


async def _answered(operation: Operation, request: Request) -> Response:
    who = caller(request, SCOPES[operation.verb])
    call = await _call(operation, request, who)
    if operation.begin is not None and wants_events(request):
        return await starts_stream(request, call, operation.begin)
    assert operation.act is not None  # noqa: S101  # `_chosen` has seen to it
    found = await operation.act(call)
    return Response(found.model_dump_json(), operation.status, media_type=_JSON)


async def _streamed(operation: Operation, request: Request) -> Response:
    who = caller(request, SCOPES[operation.verb])
    return await run_events(request, await _call(operation, request, who))


async def _call(operation: Operation, request: Request, who: Caller) -> Call:
    """What is asked for, checked."""
    return Call(
        serving(request).verbs,
        who,
        request.path_params,
        query=None if operation.query is None else read_query(request.query_params, operation.query),
        body=None if operation.body is None else await read_json(request, operation.body),
        key=read_key(request.headers) if operation.takes_key else None,
    )


async def _described(document: Document, request: Request) -> Response:
    """The OpenAPI document."""
    caller(request, Scope.READ)
    return Response(document.text(), media_type=_JSON)
