"""Options and arguments that several commands have."""

from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

FILE_VARIABLE: Final = "STAGEPOST_FILE"
URL_VARIABLE: Final = "STAGEPOST_URL"
KEY_VARIABLE: Final = "STAGEPOST_KEY"
DEFAULT_FILE: Final = Path("runs.db")

FileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help=f"The store's file; by default ${FILE_VARIABLE}, or runs.db."),
]
UrlOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help=f"A service instead of a file; by default ${URL_VARIABLE}."),
]
KeyFileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help=f"Has the key for the service; by default ${KEY_VARIABLE} is it."),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON, as `stagepost schema` describes it.")]
DebugOption: TypeAlias = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
AppOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:NAME", help="The workflows: a list, a Runner, or a function that makes one."),
]
ByOption: TypeAlias = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who says so; stored with it.")]
LabelsOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--label", "-l", metavar="NAME=VALUE", help="With this label; may be repeated.")
]
LimitOption: TypeAlias = Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")]
AfterOption: TypeAlias = Annotated[
    str | None, typer.Option("--after", metavar="CURSOR", help="Go on after the page that ended with this.")
]
RunArgument: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", show_default=False, help="The run's id.")]
