"""``stagepost keys``: who may ask a service for what."""

from functools import partial
from typing import Annotated

import typer

from .._acting import act
from .._options import DebugOption, JsonOption

keys = typer.Typer(help="Keys of a service: make them.", no_args_is_help=True)


@keys.callback()
def root() -> None:
    """Keys of a service: make them."""


@keys.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Who gets it; stored with answers.")],
    *,
    scope: Annotated[
        list[str],
        typer.Option("--scope", "-s", metavar="SCOPE", help="read, run, decide or admin; may be repeated."),
    ],
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a key: print its secret once, and the line by which the service knows it."""
    from .._keys import made

    act(partial(made, name, scope), json=json, debug=debug)
