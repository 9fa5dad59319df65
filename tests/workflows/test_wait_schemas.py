"""What a wait takes, as a JSON schema: for a form to answer it with."""

from collections.abc import Mapping

import pytest
from pydantic import BaseModel

from stagepost.checkpoint import MemoryStore, RunNotFound, RunNotOpen
from stagepost.workflows import AnswerTypes, Chain, Inbox, Receive, Runner, Sleep, State, StepContext, Wait, step


class Decision(BaseModel):
    allow: bool
    reason: str = ""


async def ask(state: State, context: StepContext) -> Mapping[str, object]:
    return {"said": await context.wait_for_answer("count", show={"kind": "number"})}


def kind_of(key: str, shown: object) -> object:
    return int if shown == {"kind": "number"} else str


WORKFLOWS = (
    Chain("decides", [Wait("decision", expect=Decision)]),
    Chain("takes_any", [Wait("anything")]),
    Chain("listens", [Receive("letter", signal="letter", expect=list[str])]),
    Chain("sleeps", [Sleep("rest", 1_000)]),
    Chain("asks", [step("ask", ask, answers=AnswerTypes(kind_of))]),
)


@pytest.mark.parametrize(
    ("workflow", "expected"),
    [
        ("decides", {"title": "Decision", "type": "object"}),
        ("takes_any", None),
        ("listens", {"items": {"type": "string"}, "type": "array"}),
        ("sleeps", None),
        ("asks", {"type": "integer"}),
    ],
)
async def test_a_wait_says_what_it_takes(workflow: str, expected: Mapping[str, object] | None) -> None:
    async with MemoryStore() as store, Runner(store, workflows=WORKFLOWS) as runner:
        run = await runner.start(runner.workflow(workflow), run_id="run-1")
        await run.settled()
        (wait,) = await runner.waits("run-1")
        for inbox in (runner, Inbox(store, workflows=WORKFLOWS)):
            schema = await inbox.schema(wait.id)
            found = None if schema is None else {key: schema[key] for key in expected or schema}
            assert found == expected
        assert await Inbox(store).schema(wait.id) is None  # nobody knows


async def test_a_run_that_takes_nothing_says_so() -> None:
    async with MemoryStore() as store, Runner(store, workflows=WORKFLOWS) as runner:
        run = await runner.start(runner.workflow("takes_any"), run_id="run-1")
        await run.settled()
        (wait,) = await runner.waits("run-1")
        assert await runner.schema("run-1/nothing") is None
        await runner.answer(wait.id, 1)
        await run.result()
        with pytest.raises(RunNotOpen):
            await runner.schema(wait.id)
        with pytest.raises(RunNotFound):
            await runner.schema("none/decision")
