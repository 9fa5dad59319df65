"""Agents one after the other."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

import pytest
from anyio import fail_after
from tests.agents._weather import REPORT, Query, Report, look

from stagepost.agents import (
    Agent,
    AgentChain,
    AgentGaveUp,
    ChainedFailure,
    FunctionModel,
    InvalidAgent,
    InvalidRequest,
    ModelMissing,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    Usage,
    call,
    tool,
)
from stagepost.agents._agent._handing import _fits
from stagepost.checkpoint import MemoryStore, RunStatus
from stagepost.hub import HandlerFailed, Hub, InvalidName
from stagepost.workflows import RunFailed, Runner

Way: TypeAlias = Callable[[AgentChain[Any], object], Awaitable[object]]


class Better(Report):
    good: bool = True


def answering(text: str, *, cost: float | None = None) -> ScriptedModel:
    return ScriptedModel([ModelResponse(text, usage=Usage(input_tokens=3, output_tokens=1, cost=cost))])


def echo(prefix: str) -> FunctionModel:
    return FunctionModel(lambda request: f"{prefix}({request.messages[-1].text})")


def agent(name: str, model: Any = None, **options: Any) -> Agent[Any]:
    made: Agent[Any] = Agent(name, "", model=model, **options)
    return made


async def in_memory(chain: AgentChain[Any], request: object) -> object:
    with fail_after(10):
        return (await chain.run(request)).output


async def served(chain: AgentChain[Any], request: object) -> object:
    with fail_after(10):
        async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub) as runner:
            await runner.serve(chain)
            return await hub.request(chain.name, request, timeout=None)


both_ways = pytest.mark.parametrize("way", [in_memory, served])


@both_ways
async def test_p6_what_one_has_answered_is_what_the_next_is_asked(way: Way) -> None:
    chain = agent("one", echo("1")).then(agent("two", echo("2"))).then(agent("three", echo("3")))
    assert chain.name == "one-then-two-then-three"
    assert await way(chain, "go") == "3(2(1(go)))"


@both_ways
async def test_p6_a_model_is_handed_on_as_what_it_is(way: Way) -> None:
    first = agent("look", ScriptedModel([call("look", city="Oslo"), REPORT]), tools=[look], input=Query, output=Report)
    judge = ScriptedModel(["fine"])
    second = agent("judge", judge, input=Report)
    assert await way(first.then(second), {"city": "Oslo"}) == "fine"
    assert judge.requests[0].messages[-1].text == '{"city":"Oslo","degrees":3}'


@both_ways
async def test_p6_a_function_makes_the_request_where_types_differ(way: Way) -> None:
    def about(report: Report) -> str:
        return f"{report.degrees} degrees"

    first = agent("look", ScriptedModel([REPORT]), output=Report)
    chain = first.then(agent("write", echo("w")), request=about)
    assert await way(chain, "Oslo?") == "w(3 degrees)"


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: agent("a", output=Report).then(agent("b")), "answers with Report, and 'b' takes a text: make output="),
        (lambda: agent("a").then(agent("b", input=Query)), "answers with a text, and 'b' takes Query"),
        (lambda: agent("a", output=Report).then(agent("b", input=Query)), "answers with Report, and 'b' takes Query"),
        (lambda: agent("a", output=Report).then(agent("b", input=Better)), "answers with Report, and 'b' takes Better"),
        (lambda: agent("a", output=list[int]).then(agent("b")), r"answers with list\[int\], and 'b' takes a text"),
        (lambda: agent("a", output=Report | None).then(agent("b")), "answers with Report or None, and 'b' takes"),
        (lambda: agent("a", output=Literal["x"]).then(agent("b")), r"answers with Literal\['x'\], and 'b' takes"),
        (lambda: agent("a").then(agent("b"), request=lambda: "x"), "does not take one argument"),  # type: ignore[arg-type,misc]
        (lambda: agent("a").then(agent("b"), request="Write."), "request='Write.' does not take one argument"),  # type: ignore[arg-type]
        (lambda: agent("a").then(agent("b"), request=waiting), "is async: give a plain function"),
        (lambda: agent("a", output=Query).then(agent("b"), request=describing), "request= takes Report: make them"),
        (lambda: agent("a").then(agent("b", input=Query), request=stating), "request= gives Report, and 'b' takes Q"),
        (lambda: agent("a").then("b"), "is not an agent: give an Agent"),  # type: ignore[arg-type]
        (lambda: agent("a").then(Agent), "is not an agent: give an Agent"),  # type: ignore[arg-type]
        (lambda: agent("a").then(agent("b")).then(agent("c", input=Query)), "agent 'b': .* 'c' takes Query"),
        (lambda: agent("a").then(agent("b").then(agent("c", input=Query))), "agent 'b': .* 'c' takes Query"),
        (lambda: agent("a").then(agent("a")), "two agents of a chain have this name"),
    ],
    ids=[
        "model to text",
        "text to model",
        "other model",
        "model below",
        "list to text",
        "union to text",
        "literal to text",
        "takes nothing",
        "no function",
        "async",
        "takes another",
        "gives another",
        "name",
        "class",
        "later",
        "in a chain",
        "one name",
    ],
)
def test_p6_types_are_checked_before_anything_runs(build: Callable[[], object], why: str) -> None:
    with pytest.raises(InvalidAgent, match=why):
        build()


async def waiting(text: str) -> str:
    return text


def describing(report: Report) -> str:
    return str(report.degrees)


def stating(text: str) -> Report:
    return Report(city=text, degrees=0)


def test_p6_a_class_below_fits_and_so_does_a_mapping_or_what_does_not_say() -> None:
    better = agent("a", output=Better)
    made: list[object] = [
        better.then(agent("b", input=Report)),
        better.then(agent("b", input=Query), request=lambda report: {"city": report.city}),
        better.then(agent("b"), request=describing),
        better.then(agent("b"), request=str),
    ]
    assert len(made) == 4


@pytest.mark.parametrize(
    ("given", "taken", "fits"),
    [(list[int], list[int], True), (list[int], list[str], False), (list[int], None, False), (None, None, True)],
    ids=["same", "other", "text", "texts"],
)
def test_p6_types_that_are_no_classes_have_to_be_the_same(
    given: object,
    taken: object,
    fits: bool,  # noqa: FBT001  # a table's column
) -> None:
    assert _fits(given, taken) is fits


def test_p6_a_chain_has_a_name_of_its_own_and_may_be_a_part_of_another() -> None:
    chain = agent("a").then(agent("b").then(agent("c")), name="abc")
    assert (chain.name, [each.name for each in chain.agents]) == ("abc", ["a", "b", "c"])
    assert repr(chain) == "AgentChain(a -> b -> c)"
    same = agent("a")
    assert same.then(same).name == "a-then-a"
    with pytest.raises(InvalidName, match="chain name"):
        agent("a" * 60).then(agent("b" * 60))


async def test_p6_a_failed_one_short_circuits_with_its_upstream() -> None:
    last = ScriptedModel([])
    gives_up = agent("two", ScriptedModel([call("fail", reason="too vague")]), output=Report)
    chain = agent("one", echo("1")).then(gives_up).then(agent("three", last, input=Report))
    with pytest.raises(ChainedFailure) as caught:
        await chain.run("go")
    error = caught.value
    assert (error.chain, error.agent, error.skipped) == ("one-then-two-then-three", "two", ("three",))
    assert [result.output for result in error.upstream] == ["1(go)"]
    assert isinstance(error.__cause__, AgentGaveUp)
    assert "after 'one' had answered; not asked: 'three': AgentGaveUp: agent 'two' has given up" in str(error)
    assert last.requests == ()


async def test_p6_a_chain_that_is_served_says_which_agent_has_failed() -> None:
    chain = agent("one", echo("1")).then(agent("two", ScriptedModel([OSError("down")]))).then(agent("three", echo("3")))
    with fail_after(10):
        async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub) as runner:
            await runner.serve(chain)
            with pytest.raises(HandlerFailed) as caught:
                await hub.request(chain.name, "go")
    assert isinstance(caught.value.__cause__, RunFailed)
    assert "agent 'two' has failed as number 2 of 3 in chain" in str(caught.value.__cause__)


async def test_p6_an_error_of_the_function_between_is_one_of_the_agent_after_it() -> None:
    def wrong(text: str) -> str:
        raise KeyError(text)

    chain = agent("one", echo("1")).then(agent("two", echo("2")), request=wrong)
    with pytest.raises(ChainedFailure, match="agent 'two' has failed") as caught:
        await chain.run("go")
    assert isinstance(caught.value.__cause__, KeyError)


async def test_p6_the_first_request_is_refused_as_the_agents_own_would_be() -> None:
    chain = agent("one", echo("1"), input=Query).then(agent("two", echo("2")))
    with pytest.raises(InvalidRequest, match="agent 'one' cannot be asked like this"):
        await chain.run(7)


async def test_p6_each_agent_has_its_own_model_or_that_of_the_run() -> None:
    chain = agent("one", echo("own")).then(agent("two"))
    with pytest.raises(ModelMissing, match="'two'"):
        await chain.run("go")
    assert (await chain.run("go", model=echo("given"))).output == "given(own(go))"
    assert (await chain.run("go", override_model=echo("x"))).output == "x(x(go))"
    with pytest.raises(ModelMissing, match="'two'"):
        chain.as_workflow()
    with pytest.raises(InvalidRequest, match="all its agents have models of their own"):
        await agent("one", echo("1")).then(agent("two", echo("2"))).run("go", model=echo("3"))


async def test_p6_all_that_was_spent_counts() -> None:
    chain = agent("one", answering("1", cost=0.5)).then(agent("two", answering("2", cost=0.25)))
    result = await chain.run("go")
    assert result.usage == Usage(input_tokens=6, output_tokens=2, cost=0.75)
    assert [each.turns for each in result.results] == [1, 1]


def test_p6_a_chain_runs_without_an_event_loop() -> None:
    assert agent("one", echo("1")).then(agent("two", echo("2"))).run_sync("go").output == "2(1(go))"


async def test_p6_what_was_answered_before_a_failure_is_not_asked_again() -> None:
    asked: list[str] = []
    is_down = True

    def one(request: ModelRequest) -> str:
        asked.append("one")
        return "1"

    def two(request: ModelRequest) -> str:
        asked.append("two")
        if is_down:
            raise OSError("down")
        return "2"

    chain = agent("one", FunctionModel(one)).then(agent("two", FunctionModel(two)))
    with fail_after(10):
        async with MemoryStore() as store, Runner(store, workflows=[chain]) as runner:
            workflow = chain.as_workflow()
            run = await runner.start(workflow, workflow.accept("go"), run_id="r")
            with pytest.raises(RunFailed):
                await run.result()
            view = await runner.runs.get("r")
            assert (view.status, view.state["output-0"]) == (RunStatus.FAILED, "1")
            is_down = False
            state = await (await runner.resume("r")).result()
    assert workflow.reply(state) == "2"
    assert asked == ["one", "two", "two"]


async def test_p6_a_call_of_a_chain_that_waits_for_a_person_parks_the_chain() -> None:
    @tool(needs_approval=True)
    def send(to: str) -> str:
        return f"sent to {to}"

    writer = agent("writer", ScriptedModel([call("send", to="ann"), "done"]), tools=[send])
    chain = agent("one", echo("1")).then(writer)
    with fail_after(10):
        async with MemoryStore() as store, Runner(store, workflows=[chain]) as runner:
            workflow = chain.as_workflow()
            run = await runner.start(workflow, workflow.accept("go"))
            assert await run.settled() is RunStatus.WAITING
            (wait,) = await runner.waits(run.id)
            await runner.answer(wait.id, {"kind": "allow"})
            assert workflow.reply(await run.result()) == "done"
