"""``stagepost``: all commands."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..._extras import loaded
from .._acting import act
from .._exits import Exit
from .._options import AppOption, ByOption, DebugOption, FileOption, JsonOption, KeyFileOption, UrlOption
from ._keys import keys
from ._runs import runs
from ._schedules import schedules

if TYPE_CHECKING:
    from .._screen import Screen

main = typer.Typer(
    name="stagepost",
    help="Runs, stores and agents of stagepost.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
main.add_typer(runs, name="runs")
main.add_typer(schedules, name="schedules")
main.add_typer(keys, name="keys")


@main.callback()
def root(
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True)] = False,
) -> None:
    """Runs, stores and agents of stagepost."""


@main.command()
def check(
    *, app: AppOption = None, file: FileOption = None, json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Say what this code would do with each open run: the gate before a deploy."""
    from .._checking import checked

    act(partial(checked, file, app), json=json, debug=debug)


@main.command()
def backup(
    target: Annotated[Path, typer.Argument(metavar="COPY", show_default=False, help="The copy.")],
    *,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    file: FileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Copy the store as it is now to another file, while everybody goes on."""
    from .._checking import backed_up

    act(partial(backed_up, file, target, overwrite=overwrite), json=json, debug=debug)


@main.command()
def verify(*, file: FileOption = None, json: JsonOption = False, debug: DebugOption = False) -> None:
    """Read the whole file, and tell what is damaged."""
    from .._checking import verified

    act(partial(verified, file), json=json, debug=debug)


@main.command()
def doctor(*, file: FileOption = None, json: JsonOption = False, debug: DebugOption = False) -> None:
    """Look at this installation and the store's file, and say what to do."""
    from .._doctor import examined

    act(partial(examined, file), json=json, debug=debug)


@main.command()
def evaluate(
    evaluation: Annotated[
        str, typer.Argument(metavar="MODULE:NAME", show_default=False, help="An Evaluation, or what makes one.")
    ],
    *,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-f", metavar="FILE", help="Keep it in this store's file: a later call goes on with it."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the cells, one line of JSON each.")
    ] = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Ask agents the same cases, and have the answers judged."""
    from .._evaluating import judged

    act(partial(judged, evaluation, file, out), json=json, debug=debug)


@main.command()
def chat(
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", show_default=False, help="MODULE:NAME, or with --url or --app its name.")
    ],
    *,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Keep the conversation in this store's file.")
    ] = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    conversation: Annotated[str | None, typer.Option("--conversation", "-c", help="Go on with this one.")] = None,
    by: ByOption = None,
    app: AppOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Talk to an agent; approvals and questions are asked here. Ctrl-D ends it."""
    from .._chat._chatting import Chat, chatted
    from .._where import Where

    act(partial(chatted, Chat(agent, Where(file, url, key_file, app, by), conversation)), json=json, debug=debug)


@main.command()
def serve(
    app: Annotated[
        str, typer.Argument(metavar="MODULE:APP", show_default=False, help="An application, workflows, or a Runner.")
    ],
    *,
    file: FileOption = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Where to listen; 127.0.0.1 by default (STAGEPOST_HOST).")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="On which port; 8000 by default (STAGEPOST_PORT).")
    ] = None,
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with the lines that `keys new` prints.")
    ] = None,
    debug: DebugOption = False,
) -> None:
    """Serve runs over HTTP: start, follow, answer and end them, and all that this command does."""

    async def job(screen: "Screen") -> Exit:
        found = loaded("stagepost.service._cli._serving", "stagepost serve")
        code: Exit = await found.served(found.Service(app, file, host, port, keys), screen)
        return code

    act(job, json=False, debug=debug)


@main.command()
def inspect(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", show_default=False, help="The file; by default $STAGEPOST_FILE, or runs.db."),
    ] = None,
    *,
    app: AppOption = None,
    port: Annotated[int | None, typer.Option(metavar="PORT", help="On which port; a free one by default.")] = None,
    debug: DebugOption = False,
) -> None:
    """Show the runs of a file in a browser, beside the process that owns it; nothing is changed."""

    async def job(screen: "Screen") -> Exit:
        found = loaded("stagepost.service._cli._inspecting", "stagepost inspect")
        code: Exit = await found.inspected(file, app, port, screen)
        return code

    act(job, json=False, debug=debug)


@main.command()
def schema(
    command: Annotated[
        str | None, typer.Argument(metavar="[COMMAND]", show_default=False, help="Such as 'runs ls'.")
    ] = None,
    *,
    debug: DebugOption = False,
) -> None:
    """Print the JSON schema of what --json writes."""
    from .._schema import printed

    act(partial(printed, command), json=True, debug=debug)
