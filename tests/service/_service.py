"""A service of the runs of a file, for commands that act through it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from tests.service import _flows as flows
from tests.service.http._uvicorn import served

from stagepost.checkpoint import SqliteStore
from stagepost.service import Key, RequestLimits, create_app
from stagepost.workflows import Runner


@contextmanager
def service(file: Path, keys: tuple[Key, ...] = ()) -> Iterator[str]:
    """A service of the runs of a file, on another thread; its address."""
    runner = Runner(SqliteStore(file), workflows=[*flows.workflows, flows.mailer, flows.buyer, flows.clerk])
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            portal.call(lambda: served(create_app(runner, keys=keys, limits=RequestLimits.none())))
        ) as url,
    ):
        yield url
