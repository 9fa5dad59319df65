"""``runs show``: all that is stored of a run."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from rich.text import Text

from stagepost.checkpoint import Item, ItemStatus, SentSignal, Snapshot
from stagepost.workflows import Inbox, PendingWait

from ._access import beside, owner_of
from ._exits import Exit
from ._listing import wait_lines
from ._models import EffectRow, FanOutRow, FrameRow, RunRow, RunShown, SignalRow
from ._rows import run_row, value_of, wait_rows
from ._screen import Screen
from ._styles import BAD, DIM, WAITS, plain, status_text
from ._texts import clean
from ._times import full, took
from ._values import compact, tree

_SIGNALS = 100
_INPUT = 2_000  # characters of what a run was started with


async def shown(file: Path | None, run_id: str, screen: Screen) -> Exit:
    """Show a run."""
    async with beside(file) as store:
        snapshot = await store.load(run_id)
        waits = await Inbox(store).waits(run_id) if snapshot.run.status.is_open else ()
        signals = (await store.signals(run_id, limit=_SIGNALS)).items
    found = run_shown(snapshot, waits, signals, owner_of(file))
    screen.show(found, partial(_lines, found))
    return Exit.OK


def run_shown(
    snapshot: Snapshot, waits: Sequence[PendingWait], signals: Sequence[SentSignal], owner: str | None
) -> RunShown:
    """A run as output."""
    run = snapshot.run
    return RunShown(
        run=run_row(run),
        traceback=run.traceback,
        keep=run.keep.value,
        input=value_of(run.input),
        state={key: value_of(data) for key, data in snapshot.root.state.items()},
        next=snapshot.root.next,
        branches=[
            FrameRow(path=path, next=frame.next, saves=frame.seq, saved_at=snapshot.saved_at.get(path))
            for path, frame in sorted(snapshot.frames.items())
        ],
        fan_outs=fan_outs(snapshot.items),
        waits=list(wait_rows(waits)),
        signals=[SignalRow(number=each.number, name=each.name, value=value_of(each.value)) for each in signals],
        effects=[
            EffectRow(place=each.place, key=each.key, status=each.status.value, value=value_of(each.value))
            for each in snapshot.effects
        ],
        owner=owner,
    )


def fan_outs(items: Sequence[Item]) -> list[FanOutRow]:
    """How far the fan-outs of a run are."""
    by_path: dict[str, list[ItemStatus]] = {}
    for item in items:
        by_path.setdefault(item.path, []).append(item.status)
    return [
        FanOutRow(path=path, total=len(found), ok=found.count(ItemStatus.OK), failed=found.count(ItemStatus.FAILED))
        for path, found in sorted(by_path.items())
    ]


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
        ("attempts", str(run.attempts) if run.attempts > 1 else ""),
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
