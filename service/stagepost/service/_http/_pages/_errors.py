"""Errors as pages, for people who have opened one."""

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from .._errors import Told
from ._pages import Pages


def error_page(pages: Pages, request: Request, error: Told) -> Response:
    """The page that tells of an error."""
    answer = pages.render(
        request,
        "stagepost/error.html",
        status=error.status,
        heading=HTTPStatus(error.status).phrase,
        code=error.status,
        message=error.message,
        hint=error.hint,
        reference=error.reference,
    )
    answer.headers.update(error.headers)
    return answer
