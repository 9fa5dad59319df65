"""``stagepost runs``: what is sent to runs, and what is to become of them."""

from functools import partial
from typing import Annotated

import typer

from .._acting import act
from .._options import (
    AppOption,
    ByOption,
    DebugOption,
    FileOption,
    JsonOption,
    KeyFileOption,
    LabelsOption,
    RunArgument,
    UrlOption,
)

run_acts = typer.Typer()

TextFlag = Annotated[bool, typer.Option("--text", help="The value is a text, and not JSON.")]


@run_acts.command()
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


@run_acts.command()
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


@run_acts.command()
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


@run_acts.command()
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


@run_acts.command()
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


@run_acts.command()
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


@run_acts.command()
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


@run_acts.command()
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
