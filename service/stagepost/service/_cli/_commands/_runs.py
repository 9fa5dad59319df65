"""``stagepost runs``: what there is, and what it waits for."""

from datetime import UTC, datetime
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
    LabelsOption,
    LimitOption,
    RunArgument,
    UrlOption,
)
from ._run_acts import run_acts

runs = typer.Typer(help="Runs: list, show, answer, cancel, resume, fork, delete.", no_args_is_help=True)
runs.add_typer(run_acts)


@runs.command("ls")
def list_runs(
    *,
    status: Annotated[
        list[str] | None, typer.Option("--status", "-s", help="running, waiting, failed, …, or open; may be repeated.")
    ] = None,
    workflow: Annotated[str | None, typer.Option("--workflow", "-w", help="Of this workflow.")] = None,
    label: LabelsOption = None,
    text: Annotated[str | None, typer.Option("--text", "-t", help="Words of the error that it failed with.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Started since: 2h, 7d or a date.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Started before.")] = None,
    ended_since: Annotated[str | None, typer.Option(metavar="TIME", help="Ended since.")] = None,
    ended_until: Annotated[str | None, typer.Option(metavar="TIME", help="Ended before.")] = None,
    counts: Annotated[
        str | None, typer.Option("--counts", metavar="BY", help="Only count them, by status or by workflow.")
    ] = None,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Begin with the oldest.")] = False,
    limit: LimitOption = 20,
    after: AfterOption = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="CURSOR", help="The page before the one that begins with this.")
    ] = None,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List runs, the newest first."""
    from .._listing import Place, Wanted, counted, listed
    from .._where import Where

    wanted = Wanted(
        statuses=status or (),
        workflow=workflow,
        labels=label or (),
        text=text,
        since=_time(since, "--since"),
        until=_time(until, "--until"),
        ended_since=_time(ended_since, "--ended-since"),
        ended_until=_time(ended_until, "--ended-until"),
    )
    page = Place(limit, after, before, oldest_first)
    where = Where(file, url, key_file, app)
    job = partial(listed, where, wanted, page) if counts is None else partial(counted, where, wanted, counts)
    act(job, json=json, debug=debug)


@runs.command()
def show(
    run: RunArgument,
    *,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show all that is stored of a run."""
    from .._showing import shown
    from .._where import Where

    act(partial(shown, Where(file, url, key_file, app), run), json=json, debug=debug)


@runs.command()
def history(
    run: RunArgument,
    *,
    limit: LimitOption = 100,
    after: Annotated[int | None, typer.Option("--after", metavar="NUMBER", help="Only what came after this.")] = None,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show what has happened to a run, step by step."""
    from .._history import told
    from .._where import Where

    act(partial(told, Where(file, url, key_file, app), run, after, limit), json=json, debug=debug)


@runs.command()
def watch(
    run: RunArgument,
    *,
    settled: Annotated[bool, typer.Option("--settled", help="End as well when the run waits for somebody.")] = False,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Follow a run until it has ended, whoever works on it."""
    from .._following import watched
    from .._where import Where

    act(partial(watched, Where(file, url, key_file, app), run, until_settled=settled), json=json, debug=debug)


@runs.command()
def waits(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", show_default=False, help="The run's id.")] = None,
    *,
    kind: Annotated[str | None, typer.Option("--kind", "-k", help="answer, signal, timer, child or effect.")] = None,
    limit: LimitOption = 100,
    after: Annotated[str | None, typer.Option("--after", metavar="CURSOR", help="The following page.")] = None,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """List what runs wait for: the inbox of whoever answers."""
    from .._listing import waited
    from .._where import Where

    act(
        partial(waited, Where(file, url, key_file, app), run, kind=kind, after=after, limit=limit),
        json=json,
        debug=debug,
    )


def _time(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    from .._times import read_time

    try:
        return read_time(text, datetime.now(UTC))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
