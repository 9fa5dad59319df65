"""``stagepost schedules``: when runs are started that nobody starts by hand."""

from functools import partial
from typing import Annotated

import typer

from .._acting import act
from .._options import (
    AfterOption,
    AppOption,
    DebugOption,
    FileOption,
    JsonOption,
    KeyFileOption,
    LimitOption,
    UrlOption,
)

schedules = typer.Typer(help="Schedules: list, pause, resume, delete.", no_args_is_help=True)

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", show_default=False, help="The schedule's key.")]


@schedules.command("ls")
def list_schedules(
    *,
    limit: LimitOption = 100,
    after: AfterOption = None,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List schedules: when their next runs are due, and what went wrong."""
    from .._schedules import listed
    from .._where import Where

    act(partial(listed, Where(file, url, key_file, app), after, limit), json=json, debug=debug)


@schedules.command()
def pause(
    key: KeyArgument,
    *,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Start no runs of a schedule until it is resumed."""
    from .._schedules import paused
    from .._where import Where

    act(partial(paused, Where(file, url, key_file, app), key), json=json, debug=debug)


@schedules.command()
def resume(
    key: KeyArgument,
    *,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Start runs of a schedule again, from its next time on."""
    from .._schedules import resumed
    from .._where import Where

    act(partial(resumed, Where(file, url, key_file, app), key), json=json, debug=debug)


@schedules.command()
def delete(
    key: KeyArgument,
    *,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Forget a schedule; the runs that it has started stay."""
    from .._schedules import deleted
    from .._where import Where

    act(partial(deleted, Where(file, url, key_file), key), json=json, debug=debug)
