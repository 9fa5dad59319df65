"""``serve``: an application, or runs over HTTP."""

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import iscoroutinefunction, signature
from pathlib import Path
from typing import Any, Final, TypeGuard

from starlette.types import ASGIApp

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import SqliteStore, StoreFile
from stagepost.workflows import Runner

from .._app import create_app
from .._http._refusing import is_loopback
from .._http._settings import ServiceSettings
from .._serving._listening import address_of, listening
from .._serving._server import serve
from ._access import chosen, owned_by
from ._definitions import Definitions, in_file, load, path_of
from ._errors import UsageError
from ._exits import Exit
from ._screen import Screen

_ASGI: Final = 3  # parameters: scope, receive, send
_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"


@dataclass(frozen=True, slots=True)
class Service:
    """What is served, and how.

    Attributes:
        app: ``module:name`` of an application, or of workflows.
        file: The store's file, for workflows.
        host: Where it listens.
        port: On which port.
        keys: A file with keys.
    """

    app: str
    file: Path | None = None
    host: str | None = None
    port: int | None = None
    keys: Path | None = None

    def settings(self) -> ServiceSettings:
        """What the variables of the environment say, and before them what was given.

        Raises:
            InvalidServiceSettings: Something does not fit.
        """
        return ServiceSettings.from_environment(os.environ, host=self.host, port=self.port, keys_file=self.keys)


async def served(service: Service, screen: Screen) -> Exit:
    """Serve until somebody ends it."""
    settings = service.settings()
    app = application(service, settings)
    _check_reach(app, settings)
    with _logging(settings.log_level), _thawed(), listening(settings.host, settings.port) as bound:
        address = address_of(bound)

        def begun() -> None:
            _freeze()
            screen.line(f"{service.app} is served at {address}; Ctrl-C ends it")
            screen.flush()

        await serve(app, settings, bound, begun)
    return Exit.OK


def application(service: Service, settings: ServiceSettings) -> ASGIApp:
    """The application that a name stands for.

    Raises:
        UsageError: It stands for something else.
        Refused: Another process owns the file.
    """
    definitions = load(service.app, "serve it")
    found = _called(definitions)
    if is_asgi(found):
        if service.keys is not None:
            raise UsageError(f"{service.app} is an application, which has its own keys: give them to it, not by --keys")
        return found
    return create_app(
        _runner(Definitions(service.app, found), service.file, settings),
        pages={},
        **settings.app_options(),
    )


def is_asgi(found: object) -> TypeGuard[ASGIApp]:
    """Whether something is an application: it takes scope, receive and send."""
    if isinstance(found, type) or not callable(found):
        return False
    call = found if iscoroutinefunction(found) else getattr(found, "__call__", None)  # noqa: B004  # what it is matters
    if not iscoroutinefunction(call):
        return False
    return len(signature(call).parameters) == _ASGI


def _called(definitions: Definitions) -> Any:
    """What is named; or what it makes, if it is a function that needs nothing and makes an application."""
    found = definitions.found
    if isinstance(found, Runner | type) or is_asgi(found) or not callable(found) or hasattr(found, "as_workflow"):
        return found
    if _parameters(found):
        return found
    try:
        return found()
    except Exception as error:
        raise UsageError(f"{definitions.name} raised {type(error).__name__}: {error}") from error


def _parameters(function: Callable[..., object]) -> int:
    try:
        return len(signature(function).parameters)
    except (TypeError, ValueError):
        return 0


def _runner(definitions: Definitions, file: Path | None, settings: ServiceSettings) -> Runner:
    made = definitions.made(file)
    if isinstance(made, Runner):
        if in_file(made.store) is not None:
            _check_owner(path_of(made, file))
        return made
    _check_owner(chosen(file))
    return Runner(SqliteStore(chosen(file), lock_timeout=0), workflows=made, grace=settings.grace)


def _check_owner(path: Path) -> None:
    owner = StoreFile.at(path).owner if path.exists() else None
    if owner is not None:
        raise owned_by(path, owner, "serve its runs")


def _check_reach(app: ASGIApp, settings: ServiceSettings) -> None:
    """See that what others can reach asks for keys; what is not of this library has to see to it itself."""
    state = getattr(app, "state", None)
    has_keys = getattr(state, "stagepost_has_keys", True)
    if not has_keys and not is_loopback(settings.host):
        raise UsageError(
            f"without keys only this machine may ask, so it cannot listen on {settings.host}: make a key with "
            "`stagepost keys new NAME --scope read`, and give the line that it prints in a file with --keys or as "
            "STAGEPOST_KEYS"
        )


def _freeze() -> None:
    """Leave all that is there once the service has started out of later collections of garbage.

    Most of it is code. To look through that took 60 to 110 ms each time, in which nobody was answered.
    """
    gc.collect()
    gc.freeze()


@contextmanager
def _thawed() -> Iterator[None]:
    """Undo it at the end of a block."""
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _logging(level: str) -> Iterator[None]:
    """Write the log to standard error for as long as a block lasts."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT))
    root, ours = logging.getLogger(), logging.getLogger("stagepost")
    before = ours.level
    root.addHandler(handler)
    ours.setLevel(level.upper())
    try:
        yield
    finally:
        ours.setLevel(before)
        root.removeHandler(handler)
