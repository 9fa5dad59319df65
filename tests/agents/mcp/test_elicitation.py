"""What servers ask people in the middle of a call: a wait of the run, answered through the inbox, in both protocols."""

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests._needs import need
from tests.agents.mcp._clerk import at_work, clerk, ended, hall, log, near, question, said, serving, stdio
from tests.checkpoint._processes import running

from stagepost.agents import (
    Agent,
    Allow,
    Dismiss,
    McpServer,
    PendingQuestion,
    Refuse,
    ScriptedModel,
    TaskStatus,
    ToolCall,
    ToolContext,
    ToolMessage,
    ToolResult,
    call,
)
from stagepost.checkpoint import CannotStore, SqliteStore
from stagepost.workflows import Inbox

need("mcp")

BOTH = pytest.mark.parametrize(
    ("kind", "era"),
    [
        pytest.param("stdio", "new", id="stdio of 2026"),
        pytest.param("stdio", "old", id="stdio of 2025"),
        pytest.param("http", "new", id="http of 2026"),
        pytest.param("http", "old", id="http of 2025"),
    ],
)
Proceed: TypeAlias = Callable[[ToolCall], Awaitable[ToolResult]]

ERAS = pytest.mark.parametrize("era", ["new", "old"])
LIFE = """
import sys, json, anyio
from tests.agents.mcp._clerk import first_life

anyio.run(first_life, *sys.argv[1:4], json.loads(sys.argv[4]))
"""
FORM = {
    "type": "object",
    "properties": {
        "seats": {"type": "integer", "minimum": 1, "maximum": 9},
        "class": {"type": "string", "enum": ["first", "second"]},
    },
    "required": ["seats"],
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@BOTH
async def test_what_a_server_asks_is_a_question_that_an_answer_carries_back(
    tmp_path: Path, kind: str, era: str
) -> None:
    with fail_after(60), hall(tmp_path, kind, era) as server:
        agent = clerk(server)
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            asked = await question(tasks, runner)
            assert (await tasks.get("t")).status is TaskStatus.AWAITING_ANSWER
            assert (asked.task_id, asked.agent, asked.tool, asked.server) == ("t", "clerk", "book", "hall")
            assert (asked.message, asked.schema, asked.url) == ("How many seats to Bergen?", FORM, None)
            assert asked.arguments == {"city": "Bergen"}
            await tasks.answer(asked.id, {"seats": 2, "class": "first"}, by="ann")
            task = await ended(tasks, runner)
    assert (task.output, said(task)) == ("done", ['Bergen accept {"seats": 2, "class": "first"}'])
    begun = ["calls book Bergen"] * (2 if era == "new" else 1)  # in the new protocol a call is made again
    assert [line for line in log(tmp_path) if line.startswith("calls")] == begun


@ERAS
@pytest.mark.parametrize(
    ("answer", "told"), [(Refuse("no"), "decline"), (Dismiss(), "cancel")], ids=["declined", "dismissed"]
)
async def test_a_server_is_told_that_nobody_gives_the_value(
    tmp_path: Path, era: str, answer: Refuse | Dismiss, told: str
) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, era))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            await tasks.answer((await question(tasks, runner)).id, answer)
            task = await ended(tasks, runner)
    assert said(task) == [f"Bergen {told} null"]


@ERAS
async def test_one_question_follows_the_other(tmp_path: Path, era: str) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, era), call("twice", city="Oslo"))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            first = await question(tasks, runner)
            await tasks.answer(first.id, {"seats": 3})
            second = await question(tasks, runner)
            assert second.message == 'Oslo accept {"seats": 3}: sure?'
            await tasks.answer(second.id, {"sure": True})
            task = await ended(tasks, runner)
    assert said(task) == ['Oslo accept {"seats": 3}, sure accept {"sure": true}']


async def test_several_questions_at_once_are_asked_one_after_the_other_and_answered_together(tmp_path: Path) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, "new"), call("pair", city="Oslo"))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            for message, value in (("A?", {"sure": False}), ("B?", {"seats": 1})):
                asked = await question(tasks, runner)
                assert asked.message == message
                await tasks.answer(asked.id, value)
            task = await ended(tasks, runner)
    assert said(task) == ['pair {"a": {"sure": false}, "b": {"seats": 1}}']


@BOTH
async def test_calls_at_once_each_wait_for_their_own_answer(tmp_path: Path, kind: str, era: str) -> None:
    cities = ["Bergen", "Oslo", "Rome"]
    with fail_after(60), hall(tmp_path, kind, era) as server:
        agent = clerk(server, [call("book", city=city) for city in cities])
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            await (await runner.get("t")).settled()
            asked = await tasks.questions()
            assert sorted(each.message for each in asked) == [f"How many seats to {city}?" for city in cities]
            for each in reversed(asked):
                await tasks.answer(each.id, {"seats": len(each.message) - len("How many seats to ?")})
            task = await ended(tasks, runner)
    assert said(task) == [f'{city} accept {{"seats": {len(city)}}}' for city in cities]


@ERAS
async def test_a_value_that_does_not_fit_the_servers_schema_is_refused_and_the_question_stays(
    tmp_path: Path, era: str
) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, era))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            asked = await question(tasks, runner)
            for value in ({"seats": 10}, {"seats": "two"}, {}, {"seats": 1, "class": "third"}, "two", None):
                with pytest.raises(CannotStore):
                    await tasks.answer(asked.id, value)
            assert await question(tasks, runner) == asked
            await tasks.answer(asked.id, {"seats": 9})
            assert said(await ended(tasks, runner)) == ['Bergen accept {"seats": 9}']


async def test_nobody_who_answers_in_time_is_nobody_who_has_chosen(tmp_path: Path) -> None:
    now = [1_000_000.0]
    with fail_after(60):
        agent = clerk(near(tmp_path, "new", answer_within=3600))
        async with at_work(agent, tmp_path, clock=lambda: now[0]) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            asked = await question(tasks, runner)
            assert asked.due_at is not None
        now[0] += 3601
        async with at_work(agent, tmp_path, clock=lambda: now[0]) as (tasks, runner):
            await runner.recover()
            await (await runner.get("t")).result()
            assert said(await tasks.get("t")) == ["Bergen cancel null"]


@ERAS
async def test_a_place_to_visit_is_listed_by_its_address(tmp_path: Path, era: str) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, era), call("visit", city=""))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            asked = await question(tasks, runner)
            assert (asked.message, asked.url) == ("Consent, please.", "https://example.com/consent")
            with pytest.raises(CannotStore):
                await tasks.answer(asked.id, "yes")
            await tasks.answer(asked.id, None)
            assert said(await ended(tasks, runner)) == ["visit accept null"]


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        pytest.param(None, "paid", id="visited"),
        pytest.param(Refuse(), "a person has declined what the server needs to do it", id="declined"),
    ],
)
async def test_a_server_that_can_do_nothing_before_a_visit_is_called_again_after_it(
    tmp_path: Path, answer: Refuse | None, result: str
) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, "old"), call("pay", city=""))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            asked = await question(tasks, runner)
            assert (asked.message, asked.url) == ("Consent first.", "https://example.com/consent")
            await tasks.answer(asked.id, answer)
            (text,) = said(await ended(tasks, runner))
    assert result in text


async def test_a_server_that_only_wants_to_be_asked_again_is_asked_again(tmp_path: Path) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, "new"), call("later", city=""))
        assert [message.text for message in (await agent.run("go")).messages if message.role == "tool"] == ["at last"]
    assert [line for line in log(tmp_path) if line.startswith("calls")] == ["calls later "] * 3


async def test_a_server_that_asks_for_what_it_was_not_offered_is_an_error_of_its_call(tmp_path: Path) -> None:
    with fail_after(60):
        result = await clerk(near(tmp_path, "new"), call("sample", city="")).run("go")
    (told,) = [message for message in result.messages if message.role == "tool"]
    assert (told.is_error, "sampling/createMessage" in told.text) == (True, True)


@ERAS
async def test_a_schema_beyond_the_protocol_takes_anything_and_what_cannot_be_sent_is_told(
    tmp_path: Path, era: str
) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, era), call("odd", city="deep"), call("odd", city="nonsense"))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            await tasks.answer((await question(tasks, runner)).id, {"deep": {"x": 1}})
            await tasks.answer((await question(tasks, runner)).id, {"x": 1})
            deep, nonsense = said(await ended(tasks, runner))
    assert ("cannot be sent" in deep, nonsense) == (True, 'nonsense accept {"x": 1}')


@ERAS
@pytest.mark.parametrize("schema", ["no object", "no such reference"])
async def test_a_schema_that_is_none_is_an_error_of_its_call(tmp_path: Path, era: str, schema: str) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, era), call("odd", city=schema))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            task = await ended(tasks, runner)
    assert (task.output, [message.is_error for message in task.messages if isinstance(message, ToolMessage)]) == (
        "done",
        [True],
    )


@ERAS
async def test_in_memory_there_is_nobody_to_ask_and_the_model_reads_it(tmp_path: Path, era: str) -> None:
    with fail_after(60):
        result = await clerk(near(tmp_path, era)).run("go")
    (told,) = [message for message in result.messages if message.role == "tool"]
    assert (result.output, told.is_error, "nobody to ask" in told.text) == ("done", True, True)


async def test_another_process_answers_without_knowing_the_agent(tmp_path: Path) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, "new"))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            await question(tasks, runner)
            async with SqliteStore.inbox(tmp_path / "runs.db") as outside:
                inbox = Inbox(outside)
                (wait,) = await inbox.waits()
                assert (wait.shown["server"], wait.shown["tool"]) == ("hall", "book")
                await inbox.answer(wait.id, {"kind": "answer", "value": {"seats": 99}})
                while not (waits := await inbox.waits()) or not waits[0].refused:
                    await checkpoint()
                assert "seats" in str(waits[0].refused)
                await inbox.answer(wait.id, {"kind": "answer", "value": {"seats": 4}})
            assert said(await ended(tasks, runner)) == ['Bergen accept {"seats": 4}']


async def test_a_question_below_the_root_is_listed_as_one_of_the_root(tmp_path: Path) -> None:
    with fail_after(60):
        below = replace(clerk(near(tmp_path, "new")), description="Books.")
        model = ScriptedModel([call("message_agent", agent_name="clerk", message="Book."), "booked"])
        lead = Agent("lead", "Lead.", model=model, sub_agents=[below])
        async with at_work(lead, tmp_path) as (tasks, runner):
            await tasks.start(lead, "go", task_id="t")
            asked = await question(tasks, runner)
            assert (asked.task_id, asked.agent, asked.server) == ("t", "clerk", "hall")
            assert (await tasks.get("t")).status is TaskStatus.AWAITING_ANSWER
            await tasks.answer(asked.id, {"seats": 1})
            assert (await ended(tasks, runner)).output == "booked"
    assert log(tmp_path)[-1] == 'did book: Bergen accept {"seats": 1}'


@ERAS
async def test_a_question_comes_after_the_approval_of_its_call_and_within_its_hooks(tmp_path: Path, era: str) -> None:
    proceeded: list[str] = []

    class Twice:
        async def tool_call(self, call: ToolCall, _context: ToolContext, proceed: Proceed) -> ToolResult:
            first = await proceed(call)
            second = await proceed(call)
            proceeded.append(f"{first.text} {first is second}")
            return second

    with fail_after(60):
        agent = clerk(near(tmp_path, era, needs_approval=["book"]), hooks=[Twice()])
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            await (await runner.get("t")).settled()
            (wanted,) = await tasks.approvals()
            assert await tasks.questions() == ()
            with pytest.raises(CannotStore):  # a value is no decision
                await runner.answer(wanted.id, {"kind": "answer", "value": {"seats": 1}})
            await tasks.decide(wanted.id, Allow(arguments={"city": "Oslo"}))
            asked = await question(tasks, runner)
            assert (asked.message, await tasks.approvals()) == ("How many seats to Oslo?", ())
            with pytest.raises(CannotStore):  # a decision is no value
                await runner.answer(asked.id, Allow())
            await tasks.answer(asked.id, {"seats": 1})
            await ended(tasks, runner)
    assert proceeded == ['Oslo accept {"seats": 1} True']
    assert log(tmp_path).count('did book: Oslo accept {"seats": 1}') == 1


async def test_a_server_that_was_restarted_while_somebody_thinks_goes_on_with_its_own_state(tmp_path: Path) -> None:
    with fail_after(60):
        with serving(tmp_path, "new") as (_, port):
            agent = clerk(McpServer.http(f"http://127.0.0.1:{port}/mcp", name="hall"), call("twice", city="Rome"))
            async with at_work(agent, tmp_path) as (tasks, runner):
                await tasks.start(agent, "go", task_id="t")
                await tasks.answer((await question(tasks, runner)).id, {"seats": 1})
                await question(tasks, runner)
        with serving(tmp_path, "new", port):
            async with at_work(agent, tmp_path) as (tasks, runner):
                await runner.recover()
                await tasks.answer((await question(tasks, runner)).id, {"sure": True})
                assert said(await ended(tasks, runner)) == ['Rome accept {"seats": 1}, sure accept {"sure": true}']


async def test_secrets_in_what_a_server_asks_are_masked(tmp_path: Path) -> None:
    with fail_after(60):
        agent = clerk(near(tmp_path, "new"), call("book", city="open-sesame-4711"))
        async with at_work(agent, tmp_path, secrets={"key": "open-sesame-4711"}) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            asked = await question(tasks, runner)
            assert asked.message == "How many seats to ***?"


async def killed(folder: Path, era: str, tool: str, options: str = "{}") -> None:
    async with running(LIFE, folder, era, tool, options) as process:
        assert (await process.line()).strip() == "asked"
        await process.kill()


async def answer_after_kill(folder: Path, era: str, call_: ToolCall, options: Mapping[str, Any]) -> list[str]:
    """Answer in a process of its own what a killed one was asked; the results of the task, worked on by a third."""
    async with SqliteStore.inbox(folder / "runs.db") as outside:
        inbox = Inbox(outside, workflows=[clerk(stdio(folder, era, **options), call_)])
        (wait,) = await inbox.waits()
        with pytest.raises(CannotStore):
            await inbox.answer(wait.id, {"kind": "answer", "value": {"seats": 0}})
        await inbox.answer(wait.id, {"kind": "answer", "value": {"seats": 2}})
    agent = clerk(stdio(folder, era, **options), call_)
    async with at_work(agent, folder) as (tasks, runner):
        await runner.recover()
        return said(await ended(tasks, runner))


async def test_a_kill_between_a_question_and_its_answer_costs_nothing_in_the_new_protocol(tmp_path: Path) -> None:
    with fail_after(60):
        await killed(tmp_path, "new", "book")
        assert await answer_after_kill(tmp_path, "new", call("book", city="Bergen"), {}) == [
            'Bergen accept {"seats": 2}'
        ]
    assert [line for line in log(tmp_path) if not line.startswith("calls")] == [
        "asks seats",
        'did book: Bergen accept {"seats": 2}',
    ]


async def test_a_call_of_the_old_protocol_that_may_be_repeated_gets_its_answer_at_once_after_a_kill(
    tmp_path: Path,
) -> None:
    with fail_after(60):
        await killed(tmp_path, "old", "quote")
        results = await answer_after_kill(tmp_path, "old", call("quote", city="Bergen"), {})
    assert results == ['Bergen accept {"seats": 2}']
    assert log(tmp_path).count("asks seats") == 2  # the server has asked again, the person was not


async def test_a_call_of_the_old_protocol_that_may_not_be_repeated_is_told_of_as_in_doubt_after_a_kill(
    tmp_path: Path,
) -> None:
    with fail_after(60):
        await killed(tmp_path, "old", "book")
        (told,) = await answer_after_kill(tmp_path, "old", call("book", city="Bergen"), {})
    assert "outcome unknown" in told
    assert log(tmp_path).count("calls book Bergen") == 1


async def test_a_call_of_the_old_protocol_that_parks_in_doubt_is_made_anew_when_a_person_says_so(
    tmp_path: Path,
) -> None:
    options = {"on_unknown": "park"}
    with fail_after(60):
        await killed(tmp_path, "old", "book", '{"on_unknown": "park"}')
        agent = clerk(stdio(tmp_path, "old", **options))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await runner.recover()
            await tasks.answer((await question(tasks, runner)).id, {"seats": 5})
            await (await runner.get("t")).settled()
            (doubt,) = await tasks.doubts()
            await tasks.settle(doubt.id, retry=True)
            assert said(await ended(tasks, runner)) == ['Bergen accept {"seats": 5}']


async def test_a_server_of_the_old_protocol_that_dies_while_somebody_thinks_is_in_doubt(tmp_path: Path) -> None:
    with fail_after(60):
        agent = clerk(stdio(tmp_path, "old"))
        async with at_work(agent, tmp_path) as (tasks, runner):
            await tasks.start(agent, "go", task_id="t")
            asked: PendingQuestion = await question(tasks, runner)
            pid = int((tmp_path / "log").read_text().splitlines()[0].rpartition(" ")[2])
            os.kill(pid, 9)
            await tasks.answer(asked.id, {"seats": 2})
            (told,) = said(await ended(tasks, runner))
    assert "may or may not have taken effect" in told  # whether the connection or the call is seen to end first
