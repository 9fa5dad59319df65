"""What agents remember, whose memories they reach, and how much of it there may be."""

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.agents.memory._clerk import ANN, BOB, Store, clerk, file_store, results, serving, told

from stagepost.agents import (
    Agent,
    Agents,
    AgentTool,
    Allow,
    InvalidTool,
    Memories,
    Memory,
    MemoryEntry,
    MemoryUnavailable,
    ScriptedModel,
    ToolContext,
    call,
    converse,
)
from stagepost.agents._memory._reading import Reading
from stagepost.agents._memory._sqlite import SqliteMemory
from stagepost.agents._memory._words import Place
from stagepost.checkpoint import MemoryStore, Page, RunStatus, Statement
from stagepost.workflows import RunFailed, Runner


@pytest.fixture(params=["memory", "file"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with MemoryStore() if request.param == "memory" else file_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def texts(result: str) -> list[str]:
    return [entry["text"] for entry in json.loads(result)]


async def test_what_one_run_remembers_another_one_recalls(store: Store) -> None:
    (first,) = await told(store, call("remember", text="Likes black tea."))
    (found,) = await told(store, call("recall", query="which TEA does she like?"))
    (entry,) = json.loads(found)
    assert (entry["text"], first) == ("Likes black tea.", f"remembered as {entry['id']}")
    assert datetime.fromisoformat(entry["day"]).year >= 2024


async def test_nothing_of_another_scope_is_found_or_forgotten(store: Store) -> None:
    (said,) = await told(store, call("remember", text="Ann likes tea."))
    entry_id = said.split()[-1]
    tried = await told(
        store,
        call("recall", query="tea"),
        call("recall"),
        call("forget", id=entry_id),
        call("recall", query='tea" OR scope : "ann'),
        labels=BOB,
    )
    assert [tried[0], tried[1], tried[3]] == ["[]"] * 3
    assert tried[2].startswith("error: there is no memory with the id")
    assert [entry.text for entry in (await Memories(store).list("ann")).items] == ["Ann likes tea."]


async def test_the_model_cannot_name_a_scope(store: Store) -> None:
    wrong = [call("remember", text="x", scope="bob"), call("recall", query="x", customer="bob")]
    assert all(text.startswith("error: the arguments do not fit") for text in await told(store, wrong))
    for tool in Memory(label="customer").tools:
        assert not {"scope", "customer", "label"} & set(re.findall(r"\w+", str(tool.schema.parameters)))


async def test_the_same_text_is_remembered_once(store: Store) -> None:
    again = [call("remember", text="likes  TEA"), call("remember", text="Likes tea")]
    first, *others = await told(store, call("remember", text="Likes tea"), again, call("remember", text="likes tea"))
    entry_id = first.split()[-1]
    assert others == [f"{entry_id} was remembered before"] * 3
    at_once = [call("remember", text="At once.")] * 3
    assert (
        len({entry_id for text in await told(store, at_once) for entry_id in text.split() if len(entry_id) == 12}) == 1
    )
    assert [entry.text for entry in (await Memories(store).list("ann")).items] == ["At once.", "Likes tea"]


async def test_what_is_forgotten_is_found_no_more(store: Store) -> None:
    first, second = await told(store, call("remember", text="Likes tea."), call("remember", text="Likes cake."))
    entry_id = first.split()[-1]
    forgotten, by_word, all_, again = await told(
        store, call("forget", id=entry_id), call("recall", query="tea"), call("recall"), call("forget", id=entry_id)
    )
    assert forgotten == f"{entry_id} is forgotten"
    assert (by_word, texts(all_)) == ("[]", ["Likes cake."])
    assert again.startswith("error: there is no memory")
    (once_more,) = await told(store, call("remember", text="Likes tea."))
    assert once_more == f"remembered as {entry_id}"
    assert second != first


HOSTILE = {
    "quotes": '"tea" OR "',
    "operators": "NEAR(tea, 3) AND NOT * ^ tea:",
    "a column": "scope : x {text}",
    "nothing but syntax": '"" () * : ^ - +',
    "a null": "tea\0\0",
    "half a quote": 'tea"',
    "a surrogate": "tea \\ud800",
    "many words": "tea " + " ".join(f"word{number}" for number in range(3000)),
    "a percent sign": "%",
    "a backslash": "\\",
    "underscores": "_ __ tea",
}


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
async def test_no_query_is_syntax(store: Store, query: str) -> None:
    _, found = await told(store, call("remember", text="Likes tea."), call("recall", query=query))
    assert texts(found) == (["Likes tea."] if "tea" in query else [])


@pytest.mark.parametrize(
    "text", [*HOSTILE.values(), "'); DROP TABLE app_stagepost_memories; --"], ids=[*HOSTILE, "sql"]
)
async def test_any_text_is_remembered(store: Store, text: str) -> None:
    memory = Memory(label="customer", max_length=50_000, max_recalled=50_000)
    _, found = await told(store, call("remember", text=text), call("recall", query=text), memory=memory)
    assert len(texts(found)) == 1


FOUND = {
    "a stem": ("She liked the teas.", "like tea"),
    "accents": ("Ein Café in Zürich", "cafe zurich"),
    "a part of a word": ("Donaudampfschiff", "dampf"),
    "no spaces": ("お茶が好きです", "お茶"),
    "a symbol": ("On fridays 🎉", "🎉"),
    "composed letters": ("Cafe\u0301", "Caf\u00e9"),
}


@pytest.mark.parametrize(("text", "query"), FOUND.values(), ids=FOUND)
async def test_words_are_found_in_other_forms(store: Store, text: str, query: str) -> None:
    _, _, found = await told(
        store, call("remember", text=text), call("remember", text="Something else"), call("recall", query=query)
    )
    assert len(texts(found)) == 1


async def test_the_best_come_first_and_the_newest_without_a_query(store: Store) -> None:
    added = [call("remember", text=text) for text in ("Her tea is green.", "Black tea is hers.", "She sails.")]
    *_, by_words, newest = await told(store, *added, call("recall", query="black tea"), call("recall", query=" "))
    assert texts(by_words) == ["Black tea is hers.", "Her tea is green."]
    assert texts(newest) == ["She sails.", "Black tea is hers.", "Her tea is green."]


async def test_limits_are_kept(store: Store) -> None:
    memory = Memory(label="customer", max_length=20, max_count=3, max_results=2, max_recalled=25)
    at_once = [call("remember", text=f"Tea number {number}") for number in range(5)]
    *added, more, known, few, long, none = await told(
        store,
        at_once,
        call("remember", text="One more tea"),
        call("remember", text="Tea number 1"),
        call("recall", query="tea"),
        call("remember", text="x" * 21),
        call("remember", text=" "),
        memory=memory,
    )
    assert sum(text.startswith("error: nothing was remembered: there are 3 memories already") for text in added) == 2
    assert more.startswith("error: nothing was remembered: there are 3 memories already")
    assert known.endswith("was remembered before")
    assert len(texts(few)) == 2
    assert long == "error: nothing was remembered: a memory has 1 to 20 characters, and this has 21"
    assert none == "error: nothing was remembered: a memory has 1 to 20 characters, and this has 0"
    (fewer,) = await told(store, call("recall"), memory=Memory(label="customer", max_length=10, max_recalled=13))
    assert len(texts(fewer)) == 1
    entry = (await Memories(store).list("ann")).items[0]
    _, added_now = await told(
        store, call("forget", id=entry.id), call("remember", text="Now there is room"), memory=memory
    )
    assert added_now.startswith("remembered as")
    assert len((await Memories(store).list("ann")).items) == 3


async def test_the_limit_of_one_scope_does_not_concern_another(store: Store) -> None:
    memory = Memory(label="customer", max_count=1)
    for labels in (ANN, BOB):
        (added,) = await told(store, call("remember", text="Likes tea."), labels=labels, memory=memory)
        assert added.startswith("remembered as")


async def test_a_function_or_a_text_is_the_scope(store: Store) -> None:
    def tenant(context: ToolContext[dict[str, str]]) -> str:
        return context.deps["tenant"]

    for memory in (Memory(scope=tenant), Memory(scope="all", name="shared")):
        await told(store, call("remember", text="Likes tea."), memory=memory, deps={"tenant": "t1"})
    assert list((await Memories(store).scopes()).items) == ["t1"]
    assert list((await Memories(store, name="shared").scopes()).items) == ["all"]


def broken(context: ToolContext) -> str:
    raise KeyError("tenant")


UNAVAILABLE: dict[str, tuple[Memory, str]] = {
    "no label": (Memory(label="tenant"), "the run has no label 'tenant': start it with labels={'tenant': …}"),
    "an error": (Memory(scope=broken), "scope= has raised KeyError: 'tenant'"),
    "no text": (Memory(scope=lambda _: 7), "the scope is 7, and has to be a text of 1 to 500 characters"),  # type: ignore[arg-type, return-value]  # the mistake under test
    "an empty text": (Memory(scope=lambda _: ""), "the scope is '', and has to be a text"),
    "a long text": (Memory(scope=lambda _: "x" * 501), "the scope is 'xxxxxx"),
    "no unicode": (Memory(scope=lambda _: "\ud800"), r"the scope is '\ud800', and has to be a text"),
}


@pytest.mark.parametrize(("memory", "why"), UNAVAILABLE.values(), ids=UNAVAILABLE)
async def test_a_run_without_a_scope_fails_when_it_uses_its_memory(memory: Memory, why: str) -> None:
    agent = clerk(call("recall"), memory=memory)
    async with MemoryStore() as store, serving(store, agent) as tasks:
        run = await tasks.start(agent, "Hello.", task_id="t", labels=ANN)
        with pytest.raises(RunFailed) as caught:
            await run.result()
        assert f"agent 'clerk' cannot use its memory 'memory': {why}" in str(caught.value)
        assert (await store.info("t")).status is RunStatus.FAILED


async def test_a_run_in_memory_has_no_memory() -> None:
    agent = clerk([call("recall"), call("recall")], memory=Memory(scope="all"))
    with pytest.raises(MemoryUnavailable, match="a run in memory has no store to keep it in: start it on a Runner"):
        await agent.run("Hello.")
    tool = Memory(scope="all").tools[0]
    with pytest.raises(MemoryUnavailable):
        tool(text="x", context=ToolContext("r", "clerk", "c", "k", None))


WRONG: dict[str, dict[str, Any]] = {
    "no scope": {},
    "two scopes": {"label": "customer", "scope": "all"},
    "no name of a label": {"label": 7},
    "an empty label": {"label": ""},
    "an empty scope": {"scope": ""},
    "no text": {"scope": 7},
    "no tools": {"label": "customer", "allow": ()},
    "one text": {"label": "customer", "allow": "recall"},
    "unknown tools": {"label": "customer", "allow": ["list"]},
    "no room": {"label": "customer", "max_count": 0},
    "what cannot be recalled": {"label": "customer", "max_recalled": 100},
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG)
def test_a_memory_is_checked_when_it_is_built(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidTool, match="tool 'memory': "):
        Memory(**given)


def test_a_scope_is_no_async_function() -> None:
    async def scope(context: ToolContext) -> str:
        return "all"

    with pytest.raises(InvalidTool, match="scope= is async"):
        Memory(scope=scope)  # type: ignore[arg-type]  # the mistake under test


async def test_several_memories_of_one_agent_are_kept_apart(store: Store) -> None:
    own, shared = (
        Memory(label="customer", name="own"),
        Memory(scope="all", prefix="team_", allow=["recall", "remember"]),
    )
    script = [call("remember", text="Likes tea."), call("team_remember", text="Tea is out."), call("team_recall")]
    agent = Agent("clerk", "Help.", model=ScriptedModel([*script, "done"]), tools=[own, shared])
    assert [tool.name for tool in agent.tools] == ["remember", "recall", "forget", "team_remember", "team_recall"]
    async with serving(store, agent) as tasks:
        state = await (await tasks.start(agent, "Hello.", labels=ANN)).result()
    assert texts(results(state["messages"])[-1]) == ["Tea is out."]


async def test_a_memory_is_named_in_data(store: Store) -> None:
    data = {"agents": [{"name": "clerk", "prompt": "Help.", "model": "scripted", "tools": ["memory"]}]}
    model = ScriptedModel([call("remember", text="Likes tea."), "done"])
    agent = Agents.load(data, tools={"memory": Memory(label="customer")}, models={"scripted": model})["clerk"]
    async with serving(store, agent) as tasks:
        await (await tasks.start(agent, "Hello.", labels=ANN)).result()
    assert len((await Memories(store).list("ann")).items) == 1


async def test_sub_agents_reach_the_memories_of_the_same_scope(store: Store) -> None:
    memory = Memory(label="customer")
    below = Agent("notes", "Note.", model=ScriptedModel([call("remember", text="Likes tea."), "ok"]), tools=[memory])
    aside = Agent(
        "aside", "Note.", model=ScriptedModel([call("recall"), "found"]), tools=[Memory(label="customer", name="aside")]
    )
    script = [
        call("message_agent", agent_name="notes", message="She likes tea."),
        call("aside", request="?"),
        call("recall", query="tea"),
    ]
    lead = Agent(
        "lead", "Lead.", model=ScriptedModel([*script, "done"]), tools=[memory, AgentTool(aside)], sub_agents=[below]
    )
    async with serving(store, lead) as tasks:
        state = await (await tasks.start(lead, "Hello.", labels=ANN)).result()
    assert texts(results(state["messages"])[-1]) == ["Likes tea."]
    (entry,) = (await Memories(store).list("ann")).items
    assert (entry.agent, (await Memories(store, name="aside").list("ann")).items) == ("notes", [])


async def test_follow_ups_and_conversations_keep_the_scope(store: Store) -> None:
    agent = clerk(call("remember", text="Likes tea."), "noted", call("recall", query="tea"), "she likes tea")
    async with serving(store, agent) as tasks:
        await (await tasks.start(agent, "I like tea.", task_id="one", labels=ANN)).result()
        run = await tasks.follow_up("one", "What do I like?")
        assert texts(results((await run.result())["messages"])[-1]) == ["Likes tea."]
        assert (await store.info(run.id)).labels == ANN
        other = await tasks.follow_up("one", "And now?", labels=BOB)
        assert (await store.info(other.id)).labels == BOB
    agent = clerk(call("recall", query="tea"), "tea")
    async with Runner(store, workflows=[agent]) as runner, converse(runner, agent, id="talk", labels=ANN) as talk:
        reply = await talk.send("What do I like?")
        assert texts(results(reply.messages)[-1]) == ["Likes tea."]


async def test_secrets_are_not_remembered(store: Store) -> None:
    class Revealing:
        """A hook that puts a secret into calls."""

        async def tool_call(self, made: Any, _context: Any, go_on: Any) -> Any:
            return await go_on(made.model_copy(update={"arguments": '{"text": "her key is sk-4711-secret"}'}))

    agent = clerk(call("remember", text="her key"), hooks=[Revealing()])
    async with serving(store, agent, secrets={"key": "sk-4711-secret"}) as tasks:
        state = await (await tasks.start(agent, "Hello.", labels=ANN)).result()
    assert results(state["messages"]) == ["error: nothing was done: it contains a secret"]
    assert list((await Memories(store).list("ann")).items) == []


async def test_a_memory_may_need_approval(store: Store) -> None:
    agent = clerk(call("remember", text="Likes tea."), approvals=["remember"])
    async with serving(store, agent) as tasks:
        run = await tasks.start(agent, "Hello.", labels=ANN)
        await run.settled()
        (asked,) = await tasks.approvals()
        assert asked.arguments == {"text": "Likes tea."}
        assert list((await Memories(store).list("ann")).items) == []
        await tasks.decide(asked.id, Allow(arguments={"text": "Likes coffee."}))
        await run.result()
    assert [entry.text for entry in (await Memories(store).list("ann")).items] == ["Likes coffee."]


async def test_people_see_and_delete_what_is_remembered(store: Store) -> None:
    now = iter(range(1_700_000_000, 1_800_000_000))
    memories = Memories(store, clock=lambda: next(now))
    assert (await memories.scopes(), await memories.list("ann")) == (Page(()), Page([]))
    assert (await memories.search("ann", "tea"), await memories.forget("ann", "x"), await memories.clear("ann")) == (
        (),
        False,
        0,
    )
    ids = [await memories.remember(scope, f"Tea {number}") for scope in ("ann", "bob") for number in range(3)]
    assert await memories.remember("ann", "tea 0") == ids[0]
    first = await memories.list("ann", limit=2)
    rest = await memories.list("ann", limit=2, after=first.next)
    assert [entry.text for entry in (*first.items, *rest.items)] == ["Tea 2", "Tea 1", "Tea 0"]
    assert rest.next is None
    assert rest.items[0].created_at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert [entry.text for entry in await memories.search("ann", "1")] == ["Tea 1"]
    page = await memories.scopes(limit=1)
    assert (list(page.items), list((await memories.scopes(after=page.next)).items)) == (["ann"], ["bob"])
    assert [await memories.forget("bob", ids[0]), await memories.forget("ann", ids[0])] == [False, True]
    assert await memories.clear("ann") == 2
    assert ((await memories.list("ann")).items, await memories.search("ann", "tea")) == ([], ())
    assert len(await memories.search("bob", "tea")) == 3
    with pytest.raises(ValueError, match="an empty text"):
        await memories.remember("ann", " ")


async def test_a_large_memory_answers_from_its_own_scope(store: Store) -> None:
    memories = Memories(store)
    for scope in ("ann", "bob"):
        for number in range(40):
            await memories.remember(scope, f"tea {scope} {number}")
    found = await memories.search("ann", "tea bob", limit=100)
    assert len(found) == 40
    assert all("ann" in entry.text for entry in found)


async def test_the_model_is_told_what_it_may_do() -> None:
    model = ScriptedModel(["done"])
    await Agent("clerk", "Help.", model=model, tools=[Memory(scope="all")]).run("Hello.")
    assert [tool.name for tool in model.requests[0].tools] == ["remember", "recall", "forget"]
    assert all(tool.description for tool in model.requests[0].tools)


async def test_without_fts5_words_are_found_as_parts_of_texts(store: Store) -> None:
    place = Place("memory", "ann")
    bare = SqliteMemory(is_made=False, has_index=False, has_fts5=False)
    for text in ("Likes black TEA.", "Sails.", "Tea at five."):
        entry = MemoryEntry(place.id_of(text), text, datetime.now(UTC))
        await store.execute(*bare.add(place, entry))
    reading = Reading(SqliteMemory(is_made=True, has_index=False, has_fts5=False), store.query, place)
    assert [entry.text for entry in await reading.find("black tea", 10)] == ["Likes black TEA.", "Tea at five."]
    assert await reading.find("nothing", 10) == ()
    sails = place.id_of("Sails.")
    await store.execute(*reading.backend.remove(place, sails))
    memories = Memories(store)
    assert [entry.text for entry in await memories.search("ann", "tea")] == ["Tea at five.", "Likes black TEA."]
    await memories.remember("ann", "Teas of Ceylon")  # with FTS5, which takes the others into its index
    assert len(await memories.search("ann", "teas")) == 3
    await store.execute(*reading.backend.clear(place))
    await memories.remember("ann", "Coffee")
    assert [entry.text for entry in await memories.search("ann", "tea coffee")] == ["Coffee"]


async def test_a_lone_surrogate_is_no_error(store: Store) -> None:
    memories = Memories(store)
    await memories.remember("ann", "tea \ud800")
    assert len(await memories.search("ann", "tea \ud800")) == 1


async def test_words_that_were_cleared_are_not_in_the_file(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        memories = Memories(store)
        await memories.remember("ann", "Zanzibarian clove")
        await memories.remember("bob", "Something else")
        assert await memories.clear("ann") == 1
    assert b"anzibarian" not in (tmp_path / "runs.db").read_bytes().lower()


async def test_a_damaged_index_fails_the_step_and_not_the_store(store: Store) -> None:
    await told(store, call("remember", text="Likes tea."))
    await store.execute(Statement("DELETE FROM app_stagepost_memory_words_data"))
    agent = clerk(call("remember", text="Likes cake."))
    async with serving(store, agent) as tasks:
        run = await tasks.start(agent, "Hello.", labels=ANN)
        with pytest.raises(RunFailed, match="StatementFailed"):
            await run.result()
    assert len((await Memories(store).list("ann")).items) == 1
