"""A workflow whose step is a compiled agent, in processes that are killed."""

from pathlib import Path
from typing import Any

from tests.agents._mortal import Notes

from stagepost.agents import CompiledAgent, tool
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Chain, Runner, StepContext

SOURCE = """
; write to everybody who owes something
(let [owing (filter (where :owes > data/least) data/people)
      sent (pmap (fn [person] (tool/post {:to (:name person)})) owing)]
  {:count (count sent) :last (tool/post {:to "the boss"})})
"""
SIGNATURE = "(people [{name :string, owes :int}], least :int?) -> {count :int, last :string}"
PEOPLE = [{"name": "ann", "owes": 5}, {"name": "bob", "owes": 0}, {"name": "carl", "owes": 7}]


def posting(notes: Notes) -> tuple[Chain, CompiledAgent]:
    """The workflow as each process builds it, and the agent."""

    @tool(idempotent=True)
    async def post(to: str) -> str:
        await notes.note(f"post {to}")
        return f"posted to {to}"

    compiled = CompiledAgent.load(SOURCE, SIGNATURE, [post], name="poster")
    loop: Any = compiled.as_workflow()

    async def remind(state: dict[str, Any], context: StepContext) -> dict[str, Any]:
        done = await context.child(loop, "remind", lambda: loop.accept({"people": state["people"], "least": 0}))
        return {"report": loop.reply(done)}

    return Chain("posting", [remind], companions=[loop]), compiled


async def work(folder: str, *held: str) -> None:
    """Start the run, or take it up again, until it ends."""
    notes = Notes(Path(folder), frozenset(held))
    workflow, _ = posting(notes)
    async with (
        SqliteStore(Path(folder) / "runs.db", durability="process") as store,
        Runner(store, workflows=[workflow]) as runner,
    ):
        if not (await runner.recover()).resumed:
            await runner.start(workflow, {"people": PEOPLE}, run_id="run")
        await (await runner.get("run")).result()
