"""``inspect``: pages that show the runs of a file."""

from pathlib import Path

from .._http._settings import ServiceSettings
from .._inspector._file_app import file_app
from .._serving._listening import address_of, listening
from .._serving._server import serve
from ._access import existing
from ._definitions import made_by
from ._exits import Exit
from ._screen import Screen

_HOST = "127.0.0.1"


async def inspected(file: Path | None, app: str | None, port: int | None, screen: Screen) -> Exit:
    """Show a file until somebody ends it: to this machine, and changing nothing."""
    path = existing(file, "as FILE")
    made = made_by(app, path)
    settings = ServiceSettings.from_environment({}, host=_HOST, port=port or 0)
    with listening(_HOST, port or 0) as bound:
        address = address_of(bound)

        def begun() -> None:
            screen.line(f"{path} is shown at {address}/inspect, read-only; Ctrl-C ends it")
            screen.flush()

        await serve(file_app(path.resolve(), made), settings, bound, begun)
    return Exit.OK
