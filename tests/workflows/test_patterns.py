"""Patterns of others, made with the kit: they run, resume, draw, fail and version as those of the package do."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import anyio
import pytest
from anyio import fail_after
from own_patterns import patterns as own
from own_patterns.patterns import Race, Repeat, RepeatError, Switch
from pydantic import BaseModel

from stagepost.checkpoint import MemoryStore
from stagepost.hub import Event
from stagepost.workflows import (
    Append,
    Chain,
    DefinitionError,
    Graph,
    NodeEntered,
    NodeRevisited,
    Parallel,
    ParallelError,
    PatternEnded,
    PatternError,
    PatternStarted,
    Runner,
    Sleep,
    State,
    StepContext,
    Wait,
    key_equals,
    patterns,
    step,
)
from stagepost.workflows.patterns import Arrow, Builder, Done, Node, NodeLike, Pattern, Target, Updates, View

PATIENCE = 30


def count(state: State) -> dict[str, int]:
    return {"n": state.get("n", 0) + 1}


def three(state: State) -> bool:
    return bool(state["n"] == 3)


def quick(_state: State) -> dict[str, str]:
    return {"made": "quickly"}


async def forever(_state: State) -> None:
    await anyio.sleep_forever()


def broken(_state: State) -> None:
    raise RuntimeError("out of paper")


def test_everything_in_the_kit_is_listed_and_documented() -> None:
    assert list(patterns.__all__) == sorted(patterns.__all__)
    for name in patterns.__all__:
        value = getattr(patterns, name)
        assert not isinstance(value, type) or value.__doc__, name


def test_the_example_is_made_with_public_names_only() -> None:
    tree = ast.parse(Path(own.__file__).read_text())
    found = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name for name in found if name.startswith("stagepost")} == {
        "stagepost.workflows",
        "stagepost.workflows.patterns",
    }


# a loop


async def test_a_repeat_goes_on_until_it_is_so() -> None:
    assert (await Repeat("thrice", count, until=three).run())["n"] == 3


async def test_a_repeat_is_a_part_of_other_patterns_and_has_them_as_its_body() -> None:
    inner = Repeat("inner", count, until=lambda state: state["n"] % 3 == 0)
    outer = Repeat("outer", Chain("body", [inner, step("note", lambda state: {"rounds": state.get("rounds", 0) + 1})]),
                   until=key_equals("rounds", 2))  # fmt: skip
    graph = Graph("work")
    graph.add("twice", outer)
    graph.add("end", step("end", lambda _state: {"ended": True}))
    graph.edge("twice", "end")
    graph.start("twice")
    graph.finish("end")
    state = await graph.run()
    assert (state["n"], state["rounds"], state["ended"]) == (6, 2, True)


async def test_each_round_is_a_visit_of_its_own() -> None:
    seen: list[tuple[str, int, str]] = []

    def note(state: State, context: StepContext) -> dict[str, int]:
        seen.append((context.path, context.visit, context.place))
        return count(state)

    await Repeat("thrice", step("note", note, inline=True), until=three).run()
    assert [(path, visit) for path, visit, _ in seen] == [("thrice/body", 1), ("thrice/body", 2), ("thrice/body", 3)]
    assert len({place for _, _, place in seen}) == 3


async def test_a_loop_that_does_not_end_fails_with_the_patterns_own_words() -> None:
    with pytest.raises(RepeatError, match="repeat 'thrice' failed: it is not done after 2 rounds") as caught:
        await Repeat("thrice", count, until=three, most=2).run()
    assert (caught.value.state["n"], caught.value.__cause__) == (2, None)


async def test_what_fails_in_a_loop_says_where_with_all_that_encloses_it() -> None:
    work = Chain("work", [count, Repeat("thrice", broken, until=three)])
    with pytest.raises(
        PatternError, match="chain 'work' failed at step 'thrice': repeat 'thrice' failed: RuntimeError: out of paper"
    ):
        await work.run()


async def test_an_error_of_a_predicate_is_the_error_of_its_pattern() -> None:
    with pytest.raises(RepeatError, match="repeat 'thrice' failed: ZeroDivisionError") as caught:
        await Repeat("thrice", count, until=lambda _state: 1 // 0 == 0).run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class Lost(Pattern):
    kind = "lost"

    def __init__(self, arrows: Mapping[str, Sequence[Arrow]], target: str = "nowhere") -> None:
        super().__init__("lost")
        self._arrows = arrows
        self._target = target

    @property
    def children(self) -> Mapping[str, Node]:
        return {"a": self.part(count)}

    def compile(self, builder: Builder) -> str:
        return builder.loop(self._next, self._arrows)

    def _next(self, child: str, state: View, entered: int) -> str | None:  # noqa: ARG002  # the kit's signature
        return self._target


async def test_a_loop_that_chooses_what_is_no_child_fails_with_the_default_words() -> None:
    with pytest.raises(
        PatternError, match=r"lost 'lost' failed: 'nowhere' is to come next, and there is no such child"
    ):
        await Lost({"": [Arrow("a")], "a": [Arrow(None)]}).run()


@pytest.mark.parametrize(
    ("arrows", "why"),
    [
        ({"": [Arrow("b")], "a": [Arrow(None)]}, "an arrow begins or ends at 'b'"),
        ({"": [Arrow("a")], "a": [Arrow(None)], "b": []}, "an arrow begins or ends at 'b'"),
        ({"": [Arrow("a")]}, "no arrow leads on from child 'a'"),
        ({"a": [Arrow("a")]}, "no arrow leads on from its beginning"),
    ],
    ids=["to nowhere", "from nowhere", "no way on", "no beginning"],
)
def test_arrows_that_do_not_fit_are_refused_where_the_pattern_is_compiled(
    arrows: Mapping[str, Sequence[Arrow]], why: str
) -> None:
    with pytest.raises(DefinitionError, match=why):
        _ = Lost(arrows).plan


async def test_observers_hear_of_the_rounds_of_a_loop() -> None:
    heard: list[Event] = []

    class Listener:
        def on_event(self, event: Event, /) -> None:
            heard.append(event)

    await Chain("work", [Repeat("thrice", count, until=three)]).run(observer=Listener())
    rounds = [event.visits for event in heard if isinstance(event, NodeEntered | NodeRevisited)]
    assert rounds == [1, 2, 3]
    kinds = [event.kind for event in heard if isinstance(event, PatternStarted | PatternEnded)]
    assert kinds == ["chain", "repeat", "repeat", "chain"]


# a choice


@pytest.mark.parametrize(("n", "way"), [(1, "one"), (3, "three"), (7, "otherwise")])
async def test_a_switch_takes_the_first_case_that_fits(n: int, way: str) -> None:
    def case(name: str) -> NodeLike:
        return step(name, lambda _state: {"way": name}, inline=True)

    cases = {"one": (key_equals("n", 1), case("one")), "three": (key_equals("n", 3), case("three"))}
    switch = Switch("which", cases, case("otherwise"))
    work = Chain("work", [switch, step("end", lambda state: {"ended": state["way"]}, inline=True)])
    state = await work.run({"n": n})
    assert (state["way"], state["ended"]) == (way, way)


def test_a_choice_whose_pattern_has_no_path_is_refused() -> None:
    class Rootless(Switch):
        @property
        def root_path(self) -> str:
            return ""

    with pytest.raises(DefinitionError, match="it is a place itself, and these have a path: root_path is its name"):
        _ = Rootless("which", {}, count).plan


# branches


async def test_the_first_branch_that_ends_wins_and_the_others_are_cancelled() -> None:
    with fail_after(PATIENCE):
        state = await Chain("work", [Race("race", {"slow": forever, "quick": quick}), count]).run()
    assert (state["race"], state["made"], state["n"]) == ("quick", "quickly", 1)


async def test_a_race_lost_in_the_items_of_a_parallel_leaves_the_others_alone() -> None:
    race = Race("race", {"slow": Parallel("fan", forever_on, over=lambda _state: [1, 2]), "quick": quick})
    with fail_after(PATIENCE):
        state = await Parallel("each", race, over="rows", into="all").run({"rows": [1, 2, 3]})
    assert [won["race"] for won in state["all"]] == ["quick"] * 3


async def forever_on(_item: int) -> None:
    await anyio.sleep_forever()


async def test_a_branch_that_fails_before_one_has_won_fails_the_race() -> None:
    with pytest.raises(
        ParallelError, match="race 'race' failed: 1 of 2 branches failed: branch 'bad' failed"
    ) as caught:
        await Race("race", {"slow": forever, "bad": broken}).run()
    assert (caught.value.accounts.failed, caught.value.accounts.cancelled) == ((1,), (0,))


async def test_a_race_that_is_won_stays_won_if_a_loser_fails_before_it_is_cancelled() -> None:
    won = anyio.Event()

    async def loser(_state: State) -> None:
        await won.wait()
        raise RuntimeError("too late")

    async def winner(_state: State) -> None:
        won.set()

    with fail_after(PATIENCE):
        assert (await Race("race", {"loser": loser, "winner": winner}).run())["race"] == "winner"


class First(Pattern):
    kind = "first"

    def __init__(self, enough: int | None, **branches: NodeLike) -> None:
        super().__init__("first")
        self._enough = enough
        self._branches = {name: self.part(branch, name) for name, branch in branches.items()}

    @property
    def children(self) -> Mapping[str, Node]:
        return self._branches

    def compile(self, builder: Builder) -> str:
        return builder.branches(self._join, enough=self._enough)

    def _join(self, target: Target, done: Mapping[str, Done]) -> Updates:
        return target.update({"won": sorted(done), "read": {name: each.read() for name, each in done.items()}})


async def test_so_many_branches_as_are_enough_are_joined() -> None:
    with fail_after(PATIENCE):
        state = await First(2, a=quick, b=forever, c=count).run()
    assert (state["won"], state["read"]) == (["a", "c"], {"a": {"made": "quickly"}, "c": {"n": 1}})


async def test_without_a_number_all_branches_are_awaited() -> None:
    state = await First(None, a=quick, c=count).run()
    assert state["won"] == ["a", "c"]


@pytest.mark.parametrize(("enough", "branches"), [(0, {"a": quick}), (2, {"a": quick}), (None, {})])
def test_more_branches_than_there_are_can_never_be_enough(enough: int | None, branches: dict[str, NodeLike]) -> None:
    with pytest.raises(DefinitionError, match="has to end well"):
        _ = First(enough, **branches).plan


async def test_a_winner_that_adds_to_a_list_leaves_it_a_list_that_grows() -> None:
    def says(text: str) -> NodeLike:
        return step(text, lambda _state: {"log": [text]}, inline=True)

    race = Race("race", {"slow": forever, "quick": says("won")})
    work = Chain("work", [says("begun"), race, says("ended")], types={"log": Annotated[list[str], Append]})
    with fail_after(PATIENCE):
        assert (await work.run())["log"] == ["begun", "won", "ended"]


# nesting, names, states


class Sum(BaseModel):
    n: int = 0


def test_a_pattern_of_others_checks_the_kind_of_its_state_and_its_names() -> None:
    class Typed(Repeat):
        def __init__(self, body: NodeLike) -> None:
            Pattern.__init__(self, "typed", state=Sum)
            self._body = self.part(body)

    def wrong(state: State) -> None: ...

    with pytest.raises(DefinitionError, match="its function takes State, and the state is Sum"):
        Typed(wrong)
    with pytest.raises(ValueError, match="'no name' is not a valid name in race 'race'"):
        Race("race", {"no name": quick})


def test_patterns_of_others_are_not_nested_without_end() -> None:
    pattern: NodeLike = count
    for number in range(32):
        pattern = Repeat(f"r{number}", pattern, until=three)
    with pytest.raises(DefinitionError, match="more than 32 patterns are nested inside each other"):
        Repeat("one-more", pattern, until=three)


def test_a_builder_knows_the_children_of_its_pattern_only() -> None:
    class Odd(Repeat):
        def compile(self, builder: Builder) -> str:
            return builder.child("other", builder.after)

    with pytest.raises(DefinitionError, match="repeat 'odd': it has no child 'other'; there are: body"):
        _ = Odd("odd", count, until=three).plan


# diagrams and versions


def test_a_loop_is_drawn_with_its_way_back() -> None:
    drawn = Chain("work", [Repeat("thrice", count, until=three), quick]).mermaid()
    assert drawn.splitlines()[1:] == [
        '    n1["count"]',
        '    n1 -->|"done"| n2',
        '    n1 -->|"again"| n1',
        '    n2["quick"]',
    ]


def test_branches_are_drawn_in_one_frame() -> None:
    drawn = Race("race", {"slow": forever, "quick": quick}).mermaid()
    assert 'subgraph n1["race"]' in drawn
    assert '"forever"' in drawn
    assert '"quick"' in drawn


def test_another_definition_has_another_shape() -> None:
    one, same = (Repeat("thrice", count, until=three).shape for _ in range(2))
    assert one == same
    assert one != Repeat("thrice", Chain("body", [count]), until=three).shape


# stored runs


async def test_what_a_losing_branch_waits_for_is_no_longer_asked() -> None:
    race = Race("race", {"answer": Wait("answer"), "time": Sleep("time", 0.05)})
    work = Chain("work", [race, Wait("more")])
    with fail_after(PATIENCE):
        async with MemoryStore() as store, Runner(store, workflows=[work]) as runner:
            run = await runner.start(work, {})
            while [wait.name for wait in await runner.waits()] != ["more"]:
                await anyio.lowlevel.checkpoint()
            assert [wait.place for wait in (await store.load(run.id)).waits if wait.status == "open"] == ["more"]
            assert not (await store.load(run.id)).items
            await runner.answer(f"{run.id}/more", 7)
            state = await run.result()
    assert (state["race"], state["more"]) == ("time", 7)


async def test_an_answer_that_comes_in_time_wins_and_the_timer_is_forgotten() -> None:
    race = Race("race", {"answer": Wait("answer"), "time": Sleep("time", 3600)})
    with fail_after(PATIENCE):
        async with MemoryStore() as store, Runner(store, workflows=[race]) as runner:
            run = await runner.start(race, {})
            while not (waits := await runner.waits()):
                await anyio.lowlevel.checkpoint()
            await runner.answer(waits[0].id, "yes")
            state = await run.result()
            assert not [wait for wait in (await store.load(run.id)).waits if wait.status == "open"]
    assert (state["race"], state["answer"]) == ("answer", "yes")


async def test_what_waits_beside_a_step_that_fails_is_no_longer_asked_where_failures_are_collected() -> None:
    both = Parallel("both", {"asked": Wait("question"), "bad": broken})
    work = Chain("work", [Parallel("each", both, over="rows", failures="bad", may_all_fail=True), Wait("more")])
    with fail_after(PATIENCE):
        async with MemoryStore() as store, Runner(store, workflows=[work]) as runner:
            run = await runner.start(work, {"rows": [1, 2]}, run_id="one")
            while "one/more" not in {wait.id for wait in await runner.waits()}:
                await anyio.lowlevel.checkpoint()
            assert {wait.id for wait in await runner.waits()} == {"one/more"}
            await runner.answer("one/more", 7)
            assert len((await run.result())["bad"]) == 2


async def test_an_effect_of_a_losing_branch_that_was_under_way_is_asked_about_by_nobody() -> None:
    begun = anyio.Event()

    async def pay() -> None:
        begun.set()
        await anyio.sleep_forever()

    async def slow(_state: State, context: StepContext) -> None:
        await context.once("pay", pay)

    async def quick_enough(_state: State) -> None:
        await begun.wait()

    work = Chain("work", [Race("race", {"slow": slow, "quick": quick_enough}), count])
    with fail_after(PATIENCE):
        async with MemoryStore() as store, Runner(store, workflows=[work]) as runner:
            run = await runner.start(work, {}, run_id="one")
            assert (await run.result())["n"] == 1
            assert not await runner.waits()


async def test_a_race_in_a_loop_is_run_anew_in_each_round() -> None:
    work = Repeat("thrice", Chain("body", [count, Race("race", {"asked": Wait("asked"), "time": Sleep("time", 0.01)})]),
                  until=three)  # fmt: skip
    with fail_after(PATIENCE):
        async with MemoryStore() as store, Runner(store, workflows=[work]) as runner:
            state = await (await runner.start(work, {}, run_id="one")).result()
            assert (state["n"], state["race"]) == (3, "time")
            assert not [wait for wait in (await store.load("one")).waits if wait.status == "open"]
