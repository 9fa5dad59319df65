"""``stagepost runs``: what there is, what it waits for, and what is to become of it."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer

from .._acting import act
from .._options import (
    AfterOption,
    AppOption,
    ByOption,
    DebugOption,
    FileOption,
    JsonOption,
    KeyFileOption,
    LabelsOption,
    LimitOption,
    RunArgument,
    UrlOption,
)

runs = typer.Typer(help="Runs: list, show, answer, cancel, resume, fork, delete.", no_args_is_help=True)

TextFlag = Annotated[bool, typer.Option("--text", help="The value is a text, and not JSON.")]


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


@runs.command()
def answer(
    wait: Annotated[str, typer.Argument(metavar="WAIT", show_default=False, help="The wait's id, or its run's.")],
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", show_default=False, help="The answer as JSON; - reads it.")
    ] = None,
    *,
    text: TextFlag = False,
    allow: Annotated[bool, typer.Option("--allow", help="An agent's call may be made.")] = False,
    deny: Annotated[str | None, typer.Option("--deny", metavar="REASON", help="It may not; the model is told.")] = None,
    by: ByOption = None,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Answer a wait; with --app the answer is checked before."""
    from .._given import Given
    from .._sending import Verdict, answered
    from .._where import Where

    job = partial(
        answered, Where(file, url, key_file, app, by), wait, given=Given(value, text), said=Verdict(allow, deny)
    )
    act(job, json=json, debug=debug)


@runs.command()
def signal(
    run: RunArgument,
    name: Annotated[str, typer.Argument(show_default=False, help="The signal's name.")],
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", show_default=False, help="What it carries, as JSON; - reads it.")
    ] = None,
    *,
    text: TextFlag = False,
    dedup: Annotated[str | None, typer.Option("--dedup", help="Signals with the same are one.")] = None,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Send a signal to a run."""
    from .._given import Given
    from .._sending import signalled
    from .._where import Where

    job = partial(signalled, Where(file, url, key_file, app), run, name, given=Given(value, text), dedup=dedup)
    act(job, json=json, debug=debug)


@runs.command()
def settle(
    run: RunArgument,
    key: Annotated[str, typer.Argument(show_default=False, help="The effect's key.")],
    *,
    value: Annotated[
        str | None, typer.Option("--value", metavar="JSON", help="It has happened, and returned this.")
    ] = None,
    text: TextFlag = False,
    retry: Annotated[bool, typer.Option("--retry", help="It has not happened: the step does it now.")] = False,
    place: Annotated[str | None, typer.Option("--place", help="Which step, if several are in doubt.")] = None,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Say what became of an effect in doubt."""
    from .._given import Given
    from .._sending import settled
    from .._where import Where

    job = partial(
        settled, Where(file, url, key_file, app), run, key, given=Given(value, text), place=place, retry=retry
    )
    act(job, json=json, debug=debug)


@runs.command()
def cancel(
    run: RunArgument,
    *,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Request the end of a run for good, and of the runs below it."""
    from .._sending import cancelled
    from .._where import Where

    act(partial(cancelled, Where(file, url, key_file), run), json=json, debug=debug)


@runs.command()
def resume(
    run: RunArgument,
    *,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Go on with a failed run, or one that was left open, until it ends or waits; a file needs --app."""
    from .._owning import resumed
    from .._where import Where

    act(partial(resumed, Where(file, url, key_file, app), run), json=json, debug=debug)


@runs.command()
def fork(
    run: RunArgument,
    *,
    at: Annotated[
        str | None, typer.Option("--at", metavar="WHERE", help="A number of its history, or the path of a step.")
    ] = None,
    changes: Annotated[
        str | None, typer.Option("--changes", metavar="JSON", help="Values that its state gets; - reads them.")
    ] = None,
    effects: Annotated[
        str | None, typer.Option("--effects", metavar="HOW", help="Those it has had after that: again, or keep.")
    ] = None,
    failed_items: Annotated[
        bool, typer.Option("--failed-items", help="Only the failed items of a fan-out run again.")
    ] = False,
    new_id: Annotated[str | None, typer.Option("--id", help="The new run's id.")] = None,
    label: LabelsOption = None,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a new run that goes on where a run stands or has stood; a file needs --app."""
    from .._given import Given
    from .._owning import Fork, forked
    from .._where import Where

    order = Fork(at, Given(changes), effects, failed_items, new_id, label or ())
    act(partial(forked, Where(file, url, key_file, app), run, order), json=json, debug=debug)


@runs.command()
def retry(
    run: RunArgument,
    *,
    path: Annotated[
        str | None, typer.Option("--path", help="Of the fan-out; by default the last with failures.")
    ] = None,
    new_id: Annotated[str | None, typer.Option("--id", help="The new run's id.")] = None,
    label: LabelsOption = None,
    app: AppOption = None,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a new run in which only the failed items of a fan-out run again; a file needs --app."""
    from .._owning import Fork, forked
    from .._where import Where

    order = Fork(path, failed_items=True, run_id=new_id, labels=label or ())
    act(partial(forked, Where(file, url, key_file, app), run, order), json=json, debug=debug)


@runs.command()
def delete(
    run: RunArgument,
    *,
    file: FileOption = None,
    url: UrlOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Delete a run that has ended, for good."""
    from .._owning import deleted
    from .._where import Where

    act(partial(deleted, Where(file, url, key_file), run), json=json, debug=debug)


def _time(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    from .._times import read_time

    try:
        return read_time(text, datetime.now(UTC))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
