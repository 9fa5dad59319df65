"""``evaluate``: ask agents cases, have the answers judged, and show a table."""

import sys
from collections.abc import Iterable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from rich.text import Text

from stagepost.agents.quality import Evaluation, EvaluationCell, EvaluationReport, evaluated
from stagepost.checkpoint import MemoryStore, SqliteStore
from stagepost.workflows import Runner

from .._wire._evaluation import CellFound
from ._access import check_free
from ._definitions import named
from ._errors import UsageError
from ._exits import Exit
from ._layout import Column, lines
from ._screen import Screen
from ._styles import BAD, DIM, GOOD, plain

_CLEAR = "\r\x1b[K"
_LEAST = 12  # columns of a judge's title or text


async def judged(name: str, file: Path | None, out: Path | None, screen: Screen) -> Exit:
    """Run an evaluation, or go on with it.

    Args:
        name: ``module:name`` of the evaluation, or of a function that makes one.
        file: Where it is kept; None to keep it nowhere.
        out: Where the cells are written, one line of JSON each; None for nowhere.
        screen: The command's output.
    """
    evaluation = _made(name)
    _check(file)
    async with AsyncExitStack() as stack:
        store: MemoryStore | SqliteStore = MemoryStore() if file is None else SqliteStore(file, lock_timeout=0)
        await stack.enter_async_context(store)
        runner = await stack.enter_async_context(Runner(store, workflows=[evaluation]))
        report = await evaluated(evaluation, runner, progress=partial(_tell, screen))
    for cell in report.cells if screen.as_json else ():
        screen.json(_found(cell), indent=None)
    if not screen.as_json:
        for line in (*_table(report, screen), *_bad(report)):
            screen.line(line)
    if out is not None:
        _write(report, out)
    return Exit.OK if report.is_good else Exit.FOUND


def _made(name: str) -> Evaluation:
    """The evaluation of a name.

    Raises:
        UsageError: The name stands for something else.
    """
    found = named(name, "EVALUATION")
    if not isinstance(found, Evaluation) and callable(found):
        try:
            found = found()
        except Exception as error:
            raise UsageError(f"EVALUATION {name} raised {type(error).__name__}: {error}") from error
    if not isinstance(found, Evaluation):
        raise UsageError(f"EVALUATION {name} is {found!r:.80}: it is to be an Evaluation, or a function that makes one")
    return found


def _check(file: Path | None) -> None:
    """See that nobody else owns a file that is there."""
    if file is not None and file.exists():
        check_free(file, "evaluate")


def _tell(screen: Screen, _: EvaluationCell, done: int, total: int) -> None:
    """Show how many cells are done, on a terminal."""
    if sys.stderr.isatty() and not screen.as_json:
        sys.stderr.write(_CLEAR if done == total else f"{_CLEAR}{done:,} of {total:,} cells")
        sys.stderr.flush()


def _write(report: EvaluationReport, out: Path) -> None:
    try:
        report.write(out)
    except OSError as error:
        raise UsageError(f"--out {out} cannot be written: {error.strerror or error}") from error


def _found(cell: EvaluationCell) -> CellFound:
    return CellFound.model_validate({**cell.model_dump(mode="json"), "is_good": cell.is_good})


def _table(report: EvaluationReport, screen: Screen) -> Iterable[Text]:
    titles, *rows = report.rows()
    columns = [
        Column(title, [plain(row[place]) for row in rows], least=_LEAST if place == 0 else None)
        for place, title in enumerate(titles)
    ]
    return lines(columns, screen.width)


def _bad(report: EvaluationReport) -> Iterable[Text]:
    """A line for each cell that is not good, and one for all of them."""
    for cell in report.bad():
        said = [
            f"{name}: {each.error or each.feedback or 'no'}"
            for name, each in cell.judgements.items()
            if each.error is not None or each.passed is False
        ]
        why = cell.error or "; ".join(said)
        yield Text.assemble((f"{cell.agent} {cell.case}", BAD), "  ", plain(why, DIM))
    if report.is_good:
        yield Text(f"all {len(report.cells)} cells are good", GOOD)
