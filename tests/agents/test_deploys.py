"""What becomes of open runs of agents when their code changes: what the docs' table says, and a check before."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.agents._ways import loop_of
from tests.agents._weather import results

from stagepost.agents import Agent, Allow, Approvals, Budget, ScriptedModel, Tasks, Tool, call, external_tool, tool
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import CheckReport, RunFailed, Runner, RunVerdict

DOCS = Path(__file__).parents[2] / "docs" / "deploying.md"
WORKING, APPROVAL, OUTSIDE = "a tool works", "a call waits for a decision", "a call waits for a value from outside"
PHASES = (WORKING, APPROVAL, OUTSIDE)


class Sum(BaseModel):
    total: int


@dataclass
class World:
    """Whether the tool holds up its caller, and whether somebody has come."""

    hangs: bool
    entered: anyio.Event

    def add(self, kind: type = int) -> Tool[..., Any]:
        """The tool that is called; of another kind of arguments it takes others."""

        async def pay(amount: kind) -> str:  # type: ignore[valid-type]  # made for each
            """Pay."""
            if self.hangs:
                self.entered.set()
                await anyio.sleep_forever()
            return f"paid {amount}"

        return tool(idempotent=True)(pay)


@tool
def other() -> str:
    """Do something else."""
    return "done"


def script(phase: str) -> list[Any]:
    return [call("quote") if phase == OUTSIDE else call("pay", amount=7), "bought"]


def agent(world: World, phase: str, **changed: Any) -> Agent[Any]:
    """The agent as it was, with some things changed."""
    tools = changed.pop("tools", lambda world, quote: [world.add(), quote(float)])

    def quote(returns: type, parameters: type[BaseModel] | None = None) -> Tool[..., Any]:
        return external_tool("quote", "Asks the shop.", parameters=parameters, returns=returns)

    options: dict[str, Any] = {
        "name": "buyer",
        "prompt": "Buy.",
        "model": ScriptedModel(script(phase)),
        "approvals": Approvals(["pay"] if phase == APPROVAL else []),
        "tools": tools(world, quote),
        **changed,
    }
    return Agent(**options)


CHANGES: Mapping[str, Mapping[str, Any]] = {
    "nothing": {},
    "prompt, settings": {"prompt": "Buy nothing dear."},
    "a tool is added": {"tools": lambda world, quote: [other, world.add(), quote(float)]},
    "the tool is removed": {"tools": lambda *_: [other]},
    "the tool takes other arguments": {"tools": lambda world, quote: [world.add(list), quote(float, Sum)]},
    "a rule is added for the tool": {"approvals": Approvals(["pay", "quote"])},
    "its rule is removed": {"approvals": Approvals()},
    "the budget is less than was used": {"budget": Budget(turns=1)},
    "the agent is renamed": {"name": "purchaser"},
}


def table() -> Mapping[tuple[str, str], str]:
    """The cells of the table in the docs."""
    _, _, text = DOCS.read_text().partition("<!-- agents -->\n")
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.partition("\n\n")[0].splitlines()]
    head, _, *rows = lines
    return {(row[0], phase): cell for row in rows for phase, cell in zip(head[1:], row[1:], strict=True)}


CELLS = [(change, phase) for change in CHANGES for phase in PHASES]


def test_the_table_has_a_cell_for_each_change_and_place() -> None:
    assert set(table()) == {(change, phase) for change, phase in CELLS if change != "nothing"}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(("change", "phase"), CELLS, ids=[", ".join(cell) for cell in CELLS])
async def test_a_run_of_a_changed_agent_does_what_the_docs_and_the_check_say(change: str, phase: str) -> None:
    world = World(hangs=True, entered=anyio.Event())
    old, new = agent(world, phase), agent(world, phase, **CHANGES[change])
    with fail_after(30):
        async with MemoryStore() as store:
            async with Runner(store, workflows=[old], grace=0) as runner:
                run = await Tasks(runner).start(old, "Buy nails.", task_id="t")
                await (world.entered.wait() if phase == WORKING else run.settled())
            world.hangs = False
            async with Runner(store, workflows=[new], grace=0) as runner:
                report = await runner.check()
                outcome = await finish(runner, new, phase)
    assert outcome == ("goes on" if change == "nothing" else table()[change, phase])
    check_foreseen(report, outcome)


def check_foreseen(report: CheckReport, outcome: str) -> None:
    """What was said before is what has become of the run."""
    (finding,) = report.findings
    notes = {"the call is not made": "its model has called", "fails": "it fails: agent 'buyer' needs more than its bud"}
    assert finding.verdict is (RunVerdict.UNKNOWN if outcome == "left open" else RunVerdict.GOES_ON)
    assert report.ok is (outcome != "left open")
    if outcome in notes:
        assert any(note.startswith(notes[outcome]) for note in finding.notes)
    else:
        assert finding.notes == ()


async def finish(runner: Runner, new: Agent[Any], phase: str) -> str:
    """What becomes of the run, in the docs' words."""
    if (await runner.recover()).left_open:
        return "left open"
    tasks, asked = Tasks(runner), False
    run = await runner.get("t")
    try:
        while (await run.settled()).is_open:
            asked |= await decide(tasks)
            run = await runner.get("t")
        (said,) = results(loop_of(new).result(await run.result()))
    except RunFailed:
        return "fails"
    if "there is no tool" in said.text:
        return "the call is not made"
    if "do not fit" in said.text:
        return "the model is told what does not fit"
    assert said.text in {"paid 7", "3.5"}
    return "a decision is asked for first" if asked and phase != APPROVAL else "goes on"


async def decide(tasks: Tasks) -> bool:
    """Send what is waited for; returns whether that was a decision."""
    approvals = await tasks.approvals()
    for approval in approvals:
        await tasks.decide(approval.id, Allow())
    for question in await tasks.questions():
        await tasks.answer(question.id, 3.5)
    return bool(approvals)
