"""``runs show``: all that is stored of a run."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial

from rich.text import Text

from .._wire._run import RunShown
from .._wire._runs import RunRow
from ._exits import Exit
from ._listing import wait_lines
from ._screen import Screen
from ._styles import BAD, DIM, WAITS, plain, status_text
from ._texts import clean
from ._times import full, took
from ._values import compact, tree
from ._where import Where

_INPUT = 2_000  # characters of what a run was started with


async def shown(where: Where, run_id: str, screen: Screen) -> Exit:
    """Show a run."""
    async with where.opened(screen.hint) as target:
        found = await target.get(run_id)
    screen.show(found, partial(_lines, found))
    return Exit.OK


def _lines(found: RunShown, screen: Screen) -> Iterable[Text]:
    run, now = found.run, screen.now
    yield Text.assemble(
        plain(run.run_id, "bold"), "  ", status_text(run.status, cancelling=run.cancelling, blocked=bool(run.blocked))
    )
    yield from _facts(found, now)
    if run.error:
        yield from _section("Error")
        yield from (Text(f"  {line}", BAD) for line in clean(run.error).split("\n"))
    if run.blocked:
        yield from _section("Blocked")
        yield from (Text(f"  {line}", BAD) for line in clean(run.blocked).split("\n"))
    yield from _standing(found)
    if found.waits:
        yield from _section("Waits for")
        yield from (Text("  ").append_text(line) for line in wait_lines(found.waits, screen))
    yield from _past(found)
    if found.state:
        yield from _section("State")
        yield from tree(found.state)
    if found.output is not None:
        yield from _section("Output")
        yield from tree(found.output)
    if found.traceback:
        yield from _section("Traceback")
        yield from (Text(f"  {line}", DIM) for line in clean(found.traceback).rstrip().split("\n"))


def _facts(found: RunShown, now: datetime) -> Iterable[Text]:
    run = found.run
    facts = [
        ("workflow", f"{run.workflow} (version {run.version})"),
        ("started", full(run.created_at, now)),
        ("ended", "" if run.finished_at is None else full(run.finished_at, now)),
        ("took", "" if run.finished_at is None else took((run.finished_at - run.created_at).total_seconds())),
        ("key", run.key or ""),
        ("labels", " ".join(f"{name}={value}" for name, value in run.labels.items())),
        ("fork of", _forked(run)),
        ("keeps", found.keep),
        ("input", compact(found.input, _INPUT)),
        ("goes on at", "" if found.next is None else found.next),
        ("taken up", f"after {run.attempts} crash{'' if run.attempts == 1 else 'es'}" if run.attempts else ""),
        ("file owned by", found.owner or ""),
    ]
    shown_facts = [(name, value) for name, value in facts if value]
    width = max(len(name) for name, _ in shown_facts)
    return [Text.assemble((f"  {name:<{width}}  ", DIM), plain(value)) for name, value in shown_facts]


def _forked(run: RunRow) -> str:
    if run.forked_from is None:
        return ""
    return run.forked_from if run.forked_at is None else f"{run.forked_from} at {run.forked_at}"


def _standing(found: RunShown) -> Iterable[Text]:
    branches = [branch for branch in found.branches if branch.path]
    if branches or found.fan_outs:
        yield from _section("Branches")
    for fan_out in found.fan_outs:
        text = Text.assemble("  ", plain(fan_out.path), f"  {fan_out.ok} of {fan_out.total} done")
        yield text.append(f", {fan_out.failed} failed", BAD) if fan_out.failed else text
    for branch in branches:
        where = "done" if branch.next is None else f"at {branch.next}"
        yield Text.assemble("  ", plain(branch.path), "  ", plain(where, DIM))


def _past(found: RunShown) -> Iterable[Text]:
    if found.signals:
        yield from _section("Signals")
    for signal in found.signals:
        yield Text.assemble("  ", plain(signal.name), "  ", (compact(signal.value, 200), DIM))
    if found.effects:
        yield from _section("Effects")
    for effect in found.effects:
        style = WAITS if effect.status == "intent" else ""
        yield Text.assemble("  ", plain(f"{effect.place}  {effect.key}"), "  ", (effect.status, style))


def _section(title: str) -> Iterable[Text]:
    return (Text(), Text(title, "bold"))
