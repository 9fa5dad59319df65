"""The inspector of a store's file: it reads beside the process that owns it, and changes nothing."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from secrets import token_bytes
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from stagepost.checkpoint import SqliteStore, StoreFile

from .._http._errors import passed_on
from .._http._inside import Inside
from .._http._limits import RequestLimits
from .._http._outside import Outside
from .._http._pages._pages import Pages
from .._http._service import Service
from .._http._streams import OpenStreams
from .._keys._caller import Caller
from .._keys._key import Scope
from .._keys._keyring import Keyring
from .._keys._logins import Logins
from .._verbs._file import FileVerbs
from .._verbs._files import Made, decrypted
from ..errors import NotServing
from ._asking import PREFIX, Ask
from ._inspector import FOLDERS, Inspector

_READER: Final = Caller("reader", frozenset({Scope.READ}))


def file_app(path: Path, made: Made = ()) -> Starlette:
    """Make the application that shows the runs of a file, to this machine alone.

    Args:
        path: The file.
        made: The workflows, or a runner of them that is not entered: then forms show what a wait takes, and the deploy
            check works; a runner on an encrypted store has the keys, too.
    """
    looked: list[FileVerbs] = []
    limits = RequestLimits.none()
    pages = Pages({}, FOLDERS)
    keys = Keyring(())
    service = Service(keys, Logins(keys, secret=token_bytes(32)), limits, pages=pages)

    def opened(request: Request) -> Ask:
        if not looked:
            raise NotServing
        return Ask(request, looked[0], _READER)

    inspector = Inspector(pages, opened, streams=OpenStreams(limits), label=str(path))
    return Starlette(
        routes=[Route("/", _home), *pages.routes(), *inspector.routes()],
        middleware=[Middleware(Outside), Middleware(Inside, service=service)],
        exception_handlers={HTTPException: passed_on},
        lifespan=_living(path, made, looked),
    )


def _living(
    path: Path, made: Made, looked: list[FileVerbs]
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def living(_app: Starlette) -> AsyncIterator[None]:
        async with SqliteStore.inbox(path) as store:
            looked.append(FileVerbs(decrypted(store, made), made, lambda: StoreFile.at(path).owner))
            try:
                yield
            finally:
                looked.clear()

    return living


async def _home(_request: Request) -> Response:
    return RedirectResponse(PREFIX, HTTPStatus.SEE_OTHER)
