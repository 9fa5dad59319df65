"""``check``: what this code would do with open runs; ``backup`` and ``verify``: a copy of the file, and its damage."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from rich.text import Text

from stagepost.checkpoint import BackupExists, SqliteStore, StoreFile
from stagepost.workflows import CheckReport, Runner, RunReader, RunVerdict, check_runs

from .._verbs._files import Made
from .._wire._made_inspected import check_found
from .._wire._store import BackupMade, DamageRow, VerifyFound
from ._access import existing
from ._definitions import load
from ._errors import Refused
from ._exits import Exit
from ._opening import reading
from ._progress import Progress, counting
from ._screen import Screen
from ._styles import BAD, DIM, GOOD, WAITS, plain

_STYLES = {
    RunVerdict.REFUSED: BAD,
    RunVerdict.UNKNOWN: BAD,
    RunVerdict.BLOCKED: WAITS,
    RunVerdict.DEAD: WAITS,
    RunVerdict.CANCELLED: DIM,
}


async def checked(file: Path | None, app: str | None, screen: Screen) -> Exit:
    """Say what becomes of each open run with this code: the gate before a deploy."""
    definitions = load(app, "check runs")
    existing(file)
    made = definitions.made(file)
    async with reading(file, made) as reader, counting(screen, "runs") as progress:
        report = await _report(made, reader, progress)
    found = check_found(report)
    screen.show(found, partial(_check_lines, report))
    return Exit.OK if report.ok else Exit.FOUND


async def _report(made: Made, reader: RunReader, progress: Progress) -> CheckReport:
    """What becomes of each open run of a file with these workflows."""
    if isinstance(made, Runner):
        return await made.check(reader, progress=progress)
    return await check_runs(reader, workflows=made, progress=progress)


async def backed_up(file: Path | None, target: Path, screen: Screen, *, overwrite: bool) -> Exit:
    """Copy the store to another file, while everybody goes on."""
    async with SqliteStore.reader(existing(file)) as reader, counting(screen, "bytes") as progress:
        try:
            await reader.backup(target, progress, overwrite=overwrite)
        except BackupExists as error:
            raise Refused(f"{error.path} exists: give another name, or --overwrite to replace it") from error
    found = BackupMade(path=str(target), size=StoreFile.at(target).size)
    screen.show(found, partial(_backup_lines, found))
    return Exit.OK


def _backup_lines(found: BackupMade, _: Screen) -> Iterable[Text]:
    yield Text.assemble(("copied", GOOD), " to ", plain(found.path), f", {found.size:,} bytes")


async def verified(file: Path | None, screen: Screen) -> Exit:
    """Read the whole file and tell what is damaged."""
    async with SqliteStore.reader(existing(file)) as reader, counting(screen, "runs") as progress:
        damage = await reader.verify(progress)
    rows = [DamageRow(kind=type(each).__name__, run_id=each.run_id, message=str(each)) for each in damage]
    found = VerifyFound(ok=not rows, damage=rows)
    screen.show(found, partial(_damage_lines, found))
    return Exit.OK if found.ok else Exit.FOUND


def _check_lines(report: CheckReport, _: Screen) -> Iterable[Text]:
    for finding in report.findings:
        if finding.is_plain:
            continue
        what = f"  {finding.workflow} version {finding.version}"
        moves = f" → {finding.target}" if finding.target not in (None, finding.version) else ""
        verdict = (finding.verdict.value.replace("_", " "), _STYLES.get(finding.verdict, ""))
        yield Text.assemble(plain(finding.run_id, "bold"), plain(what, DIM), (moves, DIM), "  ", verdict)
        yield from (Text("  ").append_text(plain(why)) for why in (finding.reason, *finding.notes) if why)
    if report.unlisted:
        yield Text(f"… and {report.unlisted} more", DIM)
    summary = str(report).partition("\n")[0]
    yield Text(summary, GOOD if report.ok else BAD)


def _damage_lines(found: VerifyFound, _: Screen) -> Iterable[Text]:
    for row in found.damage:
        yield plain(row.message, BAD)
    if found.ok:
        yield Text("no damage", GOOD)
    else:
        yield Text(f"{len(found.damage)} kinds of damage", BAD)
