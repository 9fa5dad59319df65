"""Lists that only grow: a step saves what it adds, whatever the length of the list."""

from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field
from tests.workflows._crashes import Mortal, live
from tests.workflows._words import Store, running

from stagepost.checkpoint import CannotStore, MemoryStore
from stagepost.workflows import (
    Append,
    Chain,
    ChainError,
    DefinitionError,
    Graph,
    ListCodec,
    MissingKey,
    Parallel,
    State,
    Step,
    step,
)
from stagepost.workflows._values._append import Elements, Prefix
from stagepost.workflows._values._state import store_plain

LOG: Mapping[str, Any] = {"log": Annotated[list[Any], Append]}


class Line(BaseModel):
    text: str
    number: int = 0


class Book(BaseModel):
    title: str = ""
    lines: Annotated[list[Line], Append] = Field(default_factory=list)


def says(name: str, *lines: object) -> Any:
    return step(name, lambda _: {"log": list(lines)}, inline=True)


async def test_what_a_step_returns_is_added() -> None:
    work = Chain("work", [says("a", "one"), says("b", "two", {"x": [3]}), says("c")], types=LOG)
    result = await work.run()
    assert result["log"] == ["one", "two", {"x": [3]}]
    assert (await work.run({"log": ["zero"]}))["log"] == ["zero", "one", "two", {"x": [3]}]


async def test_it_survives_a_restart_and_goes_on_growing(store: Store) -> None:
    work = Chain("work", [says("a", 1), says("b", 2), says("c", 3)], types=LOG)
    async with running(store, work) as runner:
        await (await runner.start(work, {"log": [0]}, run_id="r1")).result()
    async with running(store, work) as runner:
        assert (await (await runner.get("r1")).result())["log"] == [0, 1, 2, 3]
    async with store:
        snapshot = await store.load("r1")
    assert snapshot.root.refs["log"].length == 4
    assert snapshot.root.state["log"] == b"[0,1,2,3]"


async def test_after_a_crash_at_any_commit_the_list_is_the_same() -> None:
    graph = Graph("talk", types=LOG)
    graph.add("say", step("say", lambda state: {"log": [len(state.get("log", []))]}, inline=True))
    graph.add("end", says("end", "bye"))
    graph.edge("say", "end", when=lambda state: len(state["log"]) >= 4)
    graph.edge("say", "say")
    graph.start("say")
    graph.finish("end")
    expected = await graph.run()
    assert expected["log"] == [0, 1, 2, 3, "bye"]
    store, result = Mortal(), None
    while result is None:
        store.revive(1)
        result = await live(store, graph, {})
    assert result == expected


async def test_elements_have_their_type() -> None:
    types = {"lines": Annotated[list[Line], Append]}

    def add(state: State) -> Mapping[str, object]:
        assert all(isinstance(line, Line) for line in state.get("lines", []))
        return {"lines": [Line(text="x", number=len(state.get("lines", [])))]}

    work = Chain("work", [step("a", add), step("b", add)], types=types)
    assert (await work.run())["lines"] == [Line(text="x", number=0), Line(text="x", number=1)]


async def test_a_typed_state_may_return_what_is_added_or_the_whole(store: Store) -> None:
    def adds(_state: Book) -> Mapping[str, object]:
        return {"lines": [Line(text="one")]}

    def returns(state: Book) -> Book:
        return state.model_copy(update={"lines": [*state.lines, Line(text="two")], "title": "Tides"})

    work = Chain("work", [adds, returns], state=Book)
    async with running(store, work) as runner:
        result = await (await runner.start(work, run_id="r1")).result()
    assert result == Book(title="Tides", lines=[Line(text="one"), Line(text="two")])


async def test_a_typed_state_whose_list_lost_something_is_refused() -> None:
    def forgets(state: Book) -> Book:
        return state.model_copy(update={"lines": []})

    work = Chain("work", [step("a", lambda _: {"lines": [Line(text="x")]}), forgets], state=Book)
    with pytest.raises(ChainError, match="it only grows") as failed:
        await work.run()
    assert isinstance(failed.value.__cause__, CannotStore)


@pytest.mark.parametrize("wrong", ["text", 7, {"a": 1}, None], ids=repr)
async def test_what_is_added_must_be_a_list(wrong: object) -> None:
    work = Chain("work", [step("a", lambda _: {"log": wrong})], types=LOG)
    with pytest.raises(ChainError, match="give a list of what is to be added"):
        await work.run()


async def test_what_is_added_to_a_typed_state_must_be_a_list() -> None:
    work = Chain("work", [step("a", lambda _: {"lines": "text"})], state=Book)
    with pytest.raises(ChainError, match="give a list of what is to be added"):
        await work.run()


def test_only_a_list_can_grow() -> None:
    with pytest.raises((CannotStore, DefinitionError), match="only a list can grow"):
        Chain("work", [says("a")], types={"log": Annotated[dict[str, int], Append]})


async def test_a_state_may_be_returned_with_more() -> None:
    def more(state: State) -> State:
        return state.set("log", ["b"]).merge({"log": ["c"], "x": 1})

    result = await Chain("work", [says("a", "a"), more], types=LOG).run()
    assert (result["log"], result["x"]) == (["a", "b", "c"], 1)


async def test_another_state_than_the_one_it_got_is_refused() -> None:
    kept: list[State] = []

    def keep(state: State) -> None:
        kept.append(state)

    def old(_state: State) -> State:
        return kept[0]

    work = Chain("work", [says("a", "a"), keep, says("b", "b"), old], types=LOG)
    with pytest.raises(ChainError, match="it only grows"):
        await work.run()


async def test_branches_add_in_their_order(store: Store) -> None:
    left = Chain("left", [says("l1", 1), says("l2", 2)], types=LOG)
    both = Parallel("both", {"left": left, "right": says("r", 3)}, types=LOG)
    work = Chain("work", [says("a", 0), both, says("z", 4)], types=LOG)
    async with running(store, work) as runner:
        result = await (await runner.start(work, run_id="r1")).result()
    assert result["log"] == [0, 1, 2, 3, 4]


async def test_items_see_the_list_and_add_to_their_own() -> None:
    seen: list[list[int]] = []

    def look(state: State) -> Mapping[str, object]:
        seen.append(list(state["log"]))
        return {"log": [state["item"]]}

    item = Chain("item", [step("one", look), step("two", look)])
    work = Chain("work", [says("a", 0), Parallel("fan", item, over="numbers", workers=1)], types=LOG)
    result = await work.run({"numbers": [5, 6]})
    assert seen == [[0], [0, 5], [0], [0, 6]]
    assert [value["log"] for value in result["fan"]] == [[5, 5], [6, 6]]
    assert result["log"] == [0]


async def test_a_step_writes_only_what_it_adds() -> None:
    rows: list[int] = []

    class Counting(MemoryStore):
        async def commit(self, commit: Any) -> None:
            rows.append(len(commit.values) + ("log" in commit.frame.state))
            await super().commit(commit)

    work = Chain("work", [says(f"s{i}", "x" * 100) for i in range(20)], types=LOG)
    async with running(Counting(), work) as runner:
        await (await runner.start(work, {"log": ["y"] * 50})).result()
    assert rows == [1] * 20


async def test_large_values_are_written_when_they_change(store: Store) -> None:
    big, small = "x" * 10_000, "y"
    work = Chain(
        "work",
        [
            step("a", lambda _: {"text": big}),
            step("b", lambda _: {"n": 1}),
            step("c", lambda _: {"text": big + big}),
            step("d", lambda _: {"text": small}),
            step("e", lambda _: {"text": big}),
        ],
    )
    async with running(store, work) as runner:
        result = await (await runner.start(work, {"text": big * 3}, run_id="r1")).result()
        assert result["text"] == big
    async with store:
        snapshot = await store.load("r1")
    assert "text" in snapshot.root.refs
    assert len(snapshot.root.state["text"]) == 10_002


@pytest.mark.parametrize(("size", "beside"), [(4_000, False), (5_000, True), (200_000, True)], ids=str)
async def test_a_large_value_is_written_when_it_changes_and_else_not(size: int, *, beside: bool) -> None:
    written: list[tuple[int, int]] = []

    class Counting(MemoryStore):
        async def commit(self, commit: Any) -> None:
            in_frame = sum(map(len, commit.frame.state.values()))
            written.append((in_frame, sum(len(row.value) for row in commit.values)))
            await super().commit(commit)

    def load(letter: str) -> Step:
        return step(f"load-{letter}", lambda _: {"text": letter * size})

    work = Chain("work", [load("x"), step("n", lambda _: {"n": 1}), load("y"), step("m", lambda _: {"n": 2})])
    async with running(Counting(), work) as runner:
        await (await runner.start(work)).result()
    value = size + 2  # in quotes
    if beside:
        assert written == [(0, value), (1, 0), (1, value), (1, 0)]
    else:
        assert written == [(value, 0), (value + 1, 0), (value + 1, 0), (value + 1, 0)]


class Said(BaseModel, frozen=True):
    text: str


SAID = ListCodec(list[Said], immutable=True, verify=False)


def test_what_is_immutable_and_known_to_come_back_is_not_read() -> None:
    one, two, three = (Said(text=text) for text in ("1", "2", "3"))
    before = SAID.elements([one], "said")
    after = before.grown(SAID.elements([two], "said"))
    assert [id(said) for said in after.shared(SAID.element)] == [id(one), id(two)]
    assert before.shared(SAID.element) == [one]
    other = before.grown(SAID.elements([three], "said"))
    assert (other.shared(SAID.element), after.shared(SAID.element)) == ([one, three], [one, two])


def test_a_stored_list_that_grows_is_read_up_to_where_it_was_stored() -> None:
    stored = Elements([b'{"text":"1"}', b'{"text":"2"}'])
    new = Said(text="3")
    grown = stored.grown(SAID.elements([new], "said"))
    assert grown.shared(SAID.element) == [Said(text="1"), Said(text="2"), new]
    assert grown.grown(SAID.elements([new], "said")).shared(SAID.element)[2:] == [new, new]


def test_an_element_without_a_stored_form_is_named_by_its_place() -> None:
    with pytest.raises(CannotStore, match=r"said\[1\]"):
        ListCodec(list[Said]).elements([Said(text="1"), 7], "said")


def test_what_is_checked_is_read() -> None:
    checked = ListCodec(list[Said], immutable=True)
    given = Said(text="1")
    (read,) = checked.elements([given], "said").shared(checked.element)
    assert (read, read is given) == (given, False)


LETTERS = list("abcdef")


@pytest.mark.parametrize("length", [0, 1, 4, 6])
def test_the_beginning_of_a_list_is_read_like_a_list(length: int) -> None:
    prefix, whole = Prefix(LETTERS, length), LETTERS[:length]
    assert (prefix == whole, prefix == tuple(whole), prefix == Prefix(LETTERS, length)) == (True, True, True)
    assert (prefix == [*whole, "z"], prefix == "abc", hash(prefix)) == (False, False, hash(tuple(whole)))
    assert (list(prefix), len(prefix), repr(prefix), bool(prefix)) == (whole, length, repr(whole), bool(whole))
    for start, stop, by in product([None, -9, -2, 0, 2, 9], [None, -9, -2, 0, 2, 9], [None, -2, -1, 1, 2]):
        assert prefix[start:stop:by] == whole[start:stop:by]
    for index in range(-length, length):
        assert prefix[index] == whole[index]
    for index in (length, -length - 1):
        with pytest.raises(IndexError):
            prefix[index]


def test_the_beginning_of_a_list_stays_as_it_is_when_the_list_grows() -> None:
    letters = ["a"]
    prefix = Prefix(letters, 1)
    letters.append("b")
    assert (list(prefix), prefix[-1], "b" in prefix) == (["a"], "a", False)


def test_a_state_gives_a_long_list_without_a_copy() -> None:
    values: Mapping[str, Any] = {"said": SAID.elements([Said(text="1")], "said"), "count": store_plain(1, "count")}
    state = State(values, {"said": SAID})
    assert state["said"] == (Said(text="1"),)
    assert isinstance(state.uncopied("said"), Prefix)
    assert tuple(state.uncopied("said")) == state["said"]
    assert state.uncopied("count") == 1
    with pytest.raises(MissingKey):
        state.uncopied("nothing")
