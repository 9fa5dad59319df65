"""What becomes of open runs when the code around them changes: what the docs' table says, and never silence."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.workflows._deploys import (
    FAILED,
    OLD,
    PARKED,
    RUNNING,
    Make,
    Other,
    Part,
    Style,
    Wider,
    World,
    as_chain,
    asks,
    begin,
    done_in,
    finish,
    folds,
    hub_for,
    in_branch,
    in_chain,
    in_graph,
    in_item,
    in_nest,
    in_route,
    maps,
    plainly,
    receives,
    sleeps,
    starts,
    upgrade,
    waits,
    works,
)
from tests.workflows._words import running

from stagepost.checkpoint import MemoryStore, RunStatus, SqliteStore, WaitKind
from stagepost.workflows import CheckReport, Pattern, Run, Runner, RunVerdict, UnknownWorkflow, WorkflowError

DOCS = Path(__file__).parents[2] / "docs" / "deploying.md"


@dataclass(frozen=True)
class Row:
    """Where a run stands.

    Attributes:
        make: The workflow.
        phases: How it may be left there.
        another: Another kind of step in the place of ``here``.
        again: Whether parts run again, for other items.
        alone: Whether the parts do not follow each other: they run at once, or one of them does.
    """

    make: Make
    phases: Sequence[str] = (RUNNING, PARKED, FAILED)
    another: Part = plainly
    again: bool = False
    alone: bool = False


ROWS: Mapping[str, Row] = {
    "a step of a `Chain`": Row(in_chain(works), (RUNNING, FAILED), waits),
    "a `Wait`": Row(in_chain(waits), (PARKED,)),
    "a `Receive`": Row(in_chain(receives), (PARKED,), waits),
    "a `Sleep`": Row(in_chain(sleeps), (PARKED,), waits),
    "an `Ask`": Row(in_chain(asks), (RUNNING, FAILED)),
    "a step that waits for a child": Row(in_chain(starts), (PARKED,)),
    "a route of a `Conditional`": Row(in_route, alone=True),
    "a node of a `Graph`": Row(in_graph),
    "a branch of a `Parallel`": Row(in_branch, alone=True),
    "a `Parallel` whose worker is a step": Row(in_chain(maps)),
    "a step in an item of a `Parallel`": Row(in_item, again=True),
    "a fold": Row(in_chain(folds)),
    "a step in a route in an item in a node": Row(in_nest, again=True),
}


PLAIN = Style()


@dataclass(frozen=True)
class Change:
    """What a deploy changes; `names` are the parts then, in their order."""

    names: Sequence[str] = OLD
    style: Style = PLAIN
    migrates: bool = False
    beside: bool = False


CHANGES: Mapping[str, Change] = {
    "nothing": Change(),
    "renamed": Change(("a", "there", "b")),
    "removed": Change(("a", "b")),
    "one added before": Change(("new", "a", "here", "b")),
    "one added after": Change(("a", "here", "b", "new")),
    "another order": Change(("b", "here", "a")),
    "another kind of step": Change(),
    "a `Chain` of its name": Change(style=Style(here=as_chain)),
    "a type gets a default": Change(style=Style(model=Wider)),
    "a type that cannot read": Change(style=Style(model=Other)),
    "only a new version": Change(("a", "there", "b"), Style(version=2)),
    "old and new version": Change(("a", "there", "b"), Style(version=2), beside=True),
    "a migration": Change(("a", "there", "b"), Style(version=2), migrates=True),
}
UNSURE = {"here", "there", "inner"}  # of some kinds of steps nothing is left in the state
ON, OPEN = "goes on", "left open"


def table() -> Mapping[tuple[str, str], str]:
    """The cells of the table in the docs."""
    _, _, text = DOCS.read_text().partition("<!-- deploys -->\n")
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.partition("\n\n")[0].splitlines()]
    head, _, *rows = lines
    return {(row[0], column): cell for row in rows for column, cell in zip(head[1:], row[1:], strict=True)}


TABLE = table()
CELLS = [(row, change, phase) for row, found in ROWS.items() for change in CHANGES for phase in found.phases]


def test_the_table_has_a_cell_for_each_pattern_and_change() -> None:
    assert set(TABLE) == {(row, change) for row in ROWS for change in CHANGES if change != "nothing"}


def expected(row: str, change: str, phase: str) -> str:
    """What the docs say."""
    cell = ON if change == "nothing" else TABLE[row, change]
    plain, _, parked = cell.partition("; parked: ")
    return parked if parked and phase == PARKED else plain


class Deploy:
    """One cell: a run that one code has left, and another code finds.

    Args:
        row: Where it stands.
        change: What is changed.
        phase: How it was left.
    """

    def __init__(self, row: str, change: str, phase: str) -> None:
        self.world, self.row, self.change = World(phase), ROWS[row], CHANGES[change]
        style = replace(self.change.style, here=self.row.another) if "another kind" in change else self.change.style
        self.old = self.row.make(self.world, OLD, PLAIN)
        self.new = self.row.make(self.world, self.change.names, style)

    @property
    def workflows(self) -> Sequence[Pattern]:
        return [self.old, self.new] if self.change.beside else [self.new]

    def process(self, store: MemoryStore | SqliteStore, *workflows: Pattern, **options: Any) -> Any:
        hub = options.pop("hub")
        return running(store, *workflows, hub=hub, grace=0, clock=self.world.clock, **options)

    def done(self) -> frozenset[str]:
        """What the run has done when it goes on with the new code."""
        names = OLD if self.change.beside or (self.row.alone and "new" in self.change.names) else self.change.names
        here = "there" if "there" in names else "here"
        if self.row.alone:
            return frozenset({*(names if self.row.make is in_branch else [here]), "end"})
        after = names[names.index(here) :]
        return frozenset({"a", *after, *self._again(names)})

    def _again(self, names: Sequence[str]) -> Sequence[str]:
        """What other items do from the beginning: those that wait have all come to ``here``."""
        if not self.row.again:
            return ()
        return ("end",) if self.row.make is in_item and self.world.phase == PARKED else (*names, "end")


async def take_up(runner: Runner, deploy: Deploy) -> Run | Exception:
    """The run, or why it does not go on."""
    if deploy.world.phase == FAILED:
        try:
            return await runner.resume("r1")
        except WorkflowError as error:
            return error
    report = await runner.recover()
    if "r1" in report.left_open:
        return report.left_open["r1"]
    return await runner.get("r1")


def check_foreseen(report: CheckReport, deploy: Deploy, found: Run | Exception) -> None:
    """What was said before is what has become of the run."""
    runs = {finding.run_id: finding for finding in report.findings}
    if deploy.world.phase == FAILED:
        assert "r1" not in runs
        return
    finding = runs["r1"]
    if isinstance(found, Run):
        goes_on = RunVerdict.MIGRATED if deploy.change.migrates else RunVerdict.GOES_ON
        assert (finding.verdict, finding.reason, report.ok) == (goes_on, None, True)
        return
    verdict = RunVerdict.UNKNOWN if isinstance(found, UnknownWorkflow) else RunVerdict.REFUSED
    assert (finding.verdict, finding.reason, report.ok) == (verdict, str(found), False)


async def check_told(runner: Runner, phase: str, reason: Exception, log: pytest.LogCaptureFixture) -> None:
    """Whoever has to do with the run hears why it does not go on."""
    assert re.search("here|both|version 1|typed", str(reason)), reason
    assert "migrations=" in str(reason)
    if phase == FAILED:
        assert (await runner.runs.info("r1")).status is RunStatus.FAILED
        return
    assert [record.levelname for record in log.records if "r1" in record.getMessage()] == ["ERROR"]
    with pytest.raises(type(reason), match=re.escape(str(reason))):
        await (await runner.get("r1")).settled()
    with pytest.raises(type(reason), match=re.escape(str(reason))):
        await (await runner.get("r1")).result()
    for wait in await runner.waits():
        if wait.run_id == "r1":
            assert str(reason) in str(wait.blocked)
            if wait.kind is WaitKind.ANSWER:
                with pytest.raises(type(reason), match=re.escape(str(reason))):
                    await runner.answer(wait.id, "yes")
    with pytest.raises(type(reason)):
        await runner.signal("r1", "here", "yes")
    with pytest.raises(type(reason)):
        await runner.settle("r1", "here", value="yes")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(("row", "change", "phase"), CELLS, ids=[", ".join(cell) for cell in CELLS])
async def test_a_run_under_changed_code_goes_on_or_is_left_open_and_told(
    row: str, change: str, phase: str, caplog: pytest.LogCaptureFixture
) -> None:
    deploy, store = Deploy(row, change, phase), MemoryStore()
    caplog.set_level(logging.WARNING, "stagepost")
    async with hub_for(deploy.world) as hub:
        async with deploy.process(store, deploy.old, hub=hub) as runner:
            await begin(runner, deploy.world, deploy.old)
        deploy.world.going = True
        caplog.clear()
        migrations = {"work": {1: upgrade}} if deploy.change.migrates else None
        async with deploy.process(store, *deploy.workflows, hub=hub, migrations=migrations) as runner:
            checked = await runner.check()
            found = await take_up(runner, deploy)
            check_foreseen(checked, deploy, found)
            assert (ON if isinstance(found, Run) else OPEN) == expected(row, change, phase), found
            if isinstance(found, Run):
                done = done_in(await finish(runner, deploy.world, found))
                assert done - UNSURE == deploy.done() - UNSURE
                return
            await check_told(runner, phase, found, caplog)
        async with deploy.process(store, deploy.old, hub=hub) as runner:  # rolled back
            back = await take_up(runner, deploy)
            assert isinstance(back, Run)
            await finish(runner, deploy.world, back)
