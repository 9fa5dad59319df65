"""Where a run belongs, and what is remembered of what its process has done."""

from typing import Self

import anyio
import pytest
from anyio import fail_after
from tests.agents.tracing._noting import Noting, tree

from stagepost.agents import Agent, ModelRequest, ModelResponse, ScriptedModel, Starting, TraceContext, call, tool
from stagepost.agents._tracing._current import current_trace_context, enter, leave
from stagepost.agents._tracing._ids import iteration_id, root_id
from stagepost.agents._tracing._pump import Pump, TracingStatistics
from stagepost.agents._tracing._run_spans import RunSpans
from stagepost.agents._tracing._spans import Parents
from stagepost.agents._tracing._telling import Telling
from stagepost.workflows import Chain, Mask, StepContext, TracedRun, step


def spans(run_id: str, call_number: str | None = None) -> tuple[RunSpans, Noting, Pump, Parents]:
    run = TracedRun(
        run_id=run_id,
        workflow="w",
        trace="t",
        clock=lambda: 1.0,
        mask=lambda: Mask([]),
        created_at=0,
        saved_at=0,
        agent="a",
        call=call_number,
    )
    noting, parents = Noting(), Parents()
    pump = Pump(noting, TracingStatistics(), most=10, patience=5)
    return RunSpans(run, Telling(noting, pump, run), parents), noting, pump, parents


@pytest.mark.parametrize(
    ("number", "parent"),
    [("2-1", iteration_id("t", 2)), (None, root_id("t")), ("my own", root_id("t")), ("-1", root_id("t"))],
)
async def test_a_run_that_goes_on_in_another_process_knows_what_it_is_below(number: str | None, parent: str) -> None:
    run, noting, pump, _ = spans("t.below", number)
    run.began()
    pump.close()
    await pump.run()
    assert [(each.name, each.parent) for each in noting.told] == [("sub-agent-a", parent)]


async def test_what_a_step_has_started_is_remembered_within_bounds() -> None:
    _, noting, _, parents = spans("t.below")
    first, other = noting.create_context(), noting.create_context()
    parents.note("t.a", first)
    parents.note("t.a", other)
    assert parents.of("t.a") == first
    for number in range(10_000):
        parents.note(f"t.{number}", other)
    assert parents.of("t.a") is None
    parents.forget("t.9999")
    assert parents.of("t.9999") is None


async def test_a_workflow_may_have_a_key_named_call() -> None:
    noting = Noting()
    inner = Chain("inner", [step("deep", lambda _state: {})])

    async def outer(_state: object, context: StepContext) -> None:
        await context.child(inner, "below", {"call": "any text"})

    await Chain("flow", [step("outer", outer)], companions=[inner]).run({}, tracing=noting)
    assert [line.split()[0].strip() for line in tree(noting.told)][3] == "sub-workflow-inner"


async def test_steps_that_are_repeated_very_often_have_spans_of_their_own() -> None:
    run, _, _, _ = spans("t")
    for number in range(10_001):
        run._leave(f"step {number}", "place")
    run._leave("step 10000", "place")
    assert (run._repeats.get("step 0"), run._repeats["step 10000"]) == (None, 2)


async def test_a_context_that_was_entered_in_another_task_is_left_quietly() -> None:
    context = TraceContext("1" * 32, "2" * 16)
    tokens = []

    async def begin() -> None:
        tokens.append(enter(context))

    with fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(begin)
    leave(tokens[0])
    assert current_trace_context() is None


async def test_what_was_never_entered_ends_nothing() -> None:
    noting = Noting()
    starting = noting.start_trace("task-a-1")
    assert isinstance(starting, Starting)
    await starting.__aexit__(None, None, None)
    assert noting.told == []


class Elsewhere:
    """Traces runs in another way."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def opened(self) -> "Elsewhere":
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        self.told.append("closed")

    def ambient(self) -> None:
        """Nothing is current."""

    def run(self, traced: TracedRun) -> "Elsewhere":
        self.told.append(traced.workflow)
        return self

    def began(self) -> None:
        self.told.append("began")

    def ended(self, status: str, error: BaseException | None) -> None:
        self.told.append(f"{status} {error}")

    def step(self, name: str, value: object, context: object) -> None:
        self.told.append(f"{name} {type(value).__name__} {type(context).__name__}")

    def resumed(self, places: object) -> None:
        self.told.append(f"{places}")

    def child(self, run_id: str, context: object) -> None:
        self.told.append(f"{run_id} {type(context).__name__}")


async def test_an_agent_can_be_traced_in_another_way() -> None:
    @tool(idempotent=True)
    def look() -> str:
        "Look."
        return "fine"

    elsewhere = Elsewhere()
    agent = Agent("lead", "Lead.", model=ScriptedModel([call("look"), "done"]), tools=[look])
    await agent.run("go", tracing=elsewhere)
    assert elsewhere.told == [
        "lead",
        "began",
        "infer State StepContext",
        "tool State StepContext",
        "infer State StepContext",
        "completed None",
        "closed",
    ]


async def test_a_model_without_a_name_is_called_by_its_class() -> None:
    class Named:
        name = "vendor/model"

        async def answer(self, _request: ModelRequest) -> ModelResponse:
            return ModelResponse("done")

    noting = Noting()
    await Agent("lead", "Lead.", model=Named()).run("go", tracing=noting)
    (asked,) = [each for each in noting.told if each.name == "inference-lead"]
    assert asked.more[1]["model"] == "vendor/model"
