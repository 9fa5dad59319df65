"""Routes that the OpenAPI document describes, beside those of runs."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ._operation import Operation


class DescribedRoute(Route):
    """A route that the document describes.

    Args:
        operation: What it is for.
        endpoint: Answers.
    """

    def __init__(self, operation: Operation, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
        super().__init__(operation.path, endpoint, methods=[operation.method], name=operation.verb)
        self.operation = operation


def described_by(routes: Iterable[BaseRoute]) -> Sequence[Operation]:
    """What those of some routes are for that the document describes."""
    return [each.operation for each in routes if isinstance(each, DescribedRoute)]
