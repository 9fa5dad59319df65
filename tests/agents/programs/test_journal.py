"""What programs call is their journal: after a wait or a crash they run again against it. Tasks, plans, the clock."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.agents.programs._orders import Asked, Report, look, send

from stagepost.agents import Agent, Allow, Answer, Deny, JournalMismatch, Tasks, UserMessage, external_tool, tool
from stagepost.checkpoint import MemoryStore, RunStatus, SqliteStore
from stagepost.programs import InvalidValue, ProgramError, PtcLisp
from stagepost.workflows import Runner

DONE = "(return {:total 1})"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@asynccontextmanager
async def working(agent: Agent[Any], store: Any) -> AsyncIterator[tuple[Tasks, Runner]]:
    """A runner that has taken its runs up."""
    async with Runner(store, workflows=[agent]) as runner:
        await runner.recover()
        yield Tasks(runner), runner


async def started(tasks: Tasks, agent: Agent[Any]) -> None:
    """Start the task, and wait until it waits for somebody."""
    run = await tasks.start(agent, {"rows": []}, task_id="t")
    assert await run.settled() is RunStatus.WAITING


async def told(tasks: Tasks) -> list[str]:
    """What the model was told after the request."""
    return [message.text for message in (await tasks.get("t")).messages if isinstance(message, UserMessage)][1:]


PAYING = """
(def seen (:name (tool/look {:id 1})))
(def at (System/currentTimeMillis))
(let [paid (tool/pay {:amount (+ 1 (* 0 at))})]
  (println seen paid (= at (System/currentTimeMillis)))
  (return {:total 2 :names [seen paid]}))
"""


async def test_a_program_parks_at_an_approval_and_goes_on_there_in_another_runner(tmp_path: Path) -> None:
    looked: list[int] = []

    @tool(idempotent=True)
    async def look(id: int) -> dict[str, str]:  # noqa: A002 - what it is
        looked.append(id)
        return {"name": f"n{id}"}

    agent = Asked(PAYING, tools=[look, pay]).agent
    async with SqliteStore(tmp_path / "runs.db") as store:
        async with working(agent, store) as (tasks, _):
            await started(tasks, agent)
        async with working(agent, store) as (tasks, runner):
            (wanted,) = await tasks.approvals()
            assert (wanted.tool, wanted.arguments) == ("pay", {"amount": 1})
            await tasks.decide(wanted.id, Allow(arguments={"amount": 5}))
            output = (await (await runner.get("t")).result())["output"]
    assert output == Report(total=2, names=["n1", "paid 5"])
    assert looked == [1]


async def test_a_denied_call_is_an_error_of_the_program() -> None:
    agent = Asked(PAYING, DONE, tools=[look, pay]).agent
    async with MemoryStore() as store, working(agent, store) as (tasks, runner):
        await started(tasks, agent)
        (wanted,) = await tasks.approvals()
        await tasks.decide(wanted.id, Deny("too much"))
        assert (await (await runner.get("t")).result())["output"].total == 1
        (first,) = await told(tasks)
    assert "Tool 'pay' failed: denied by a person, pay was not called: too much" in first


async def test_branches_that_wait_for_people_ask_all_at_once_and_calls_beside_them_are_made() -> None:
    program = """
    (return {:total 1 :names (pcalls (fn [] (tool/pay {:amount 1})) (fn [] (tool/send {:to "ann"}))
                                     (fn [] (tool/pay {:amount (count (tool/send {:to "bob"}))})))})
    """
    agent = Asked(program, tools=[send, pay]).agent
    async with MemoryStore() as store, working(agent, store) as (tasks, runner):
        await started(tasks, agent)
        (first,) = await tasks.approvals()
        await tasks.decide(first.id, Allow())
        run = await runner.get("t")
        assert await run.settled() is RunStatus.WAITING
        (second,) = await tasks.approvals()
        assert second.arguments == {"amount": len("sent to bob")}
        await tasks.decide(second.id, Allow())
        output = (await run.result())["output"]
    assert output.names == ["paid 1", "sent to ann", "paid 11"]


async def test_an_external_tool_in_a_program_is_answered_from_outside() -> None:
    parameters = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
    ask = external_tool("ask", "Ask a person.", parameters=parameters)
    agent = Asked('(return {:total (:price (tool/ask {:what "price"}))})', tools=[ask]).agent
    async with MemoryStore() as store, working(agent, store) as (tasks, runner):
        await started(tasks, agent)
        (question,) = await tasks.questions()
        await tasks.answer(question.id, Answer({"price": 12}))
        assert (await (await runner.get("t")).result())["output"].total == 12


class Changed(PtcLisp):
    """A language whose programs are not what they were in another process."""

    changes: ClassVar[tuple[str, str]] = ("", "")

    def find(self, answer: str) -> str | ProgramError:
        """Another program than before."""
        return re.sub(*self.changes, answer.strip(), flags=re.DOTALL)


class Calling(Changed):
    """It does not make the first call."""

    changes = (r"\(tool/look {:id 1}\)", '{:name "n1"}')


class Renaming(Changed):
    """It makes the first call with another argument."""

    changes = ("{:id 1}", "{:id 2}")


class Ending(Changed):
    """It makes no calls."""

    changes = (".+", DONE)


class More(Changed):
    """It makes more calls at once."""

    changes = (".+", "(pmap (fn [i] (tool/look {:id i})) [1 2])")


@pytest.mark.parametrize(
    ("language", "why"),
    [
        (Calling(), "it calls pay.* as program-0-0 where it called look"),
        (Renaming(), 'it calls look.{"id":2}. as program-0-0 where it called look.{"id":1}.'),
        (Ending(), "it ends where it called look"),
        (More(), "it makes 2 calls at once where it made 1"),
    ],
)
async def test_a_program_that_makes_other_calls_than_before_fails_its_run(
    tmp_path: Path, language: PtcLisp, why: str
) -> None:
    agent = Asked(PAYING, tools=[look, pay]).agent
    changed = Asked(PAYING, tools=[look, pay], programs=language).agent
    async with SqliteStore(tmp_path / "runs.db") as store:
        async with working(agent, store) as (tasks, _):
            await started(tasks, agent)
        async with working(changed, store) as (tasks, runner):
            (wanted,) = await tasks.approvals()
            await tasks.decide(wanted.id, Allow())
            run = await runner.get("t")
            assert await run.settled() is RunStatus.FAILED
            error = (await tasks.get("t")).error
        assert error is not None
        assert "journal_mismatch" in error
        assert JournalMismatch.kind == "journal_mismatch"
        assert re.search(why, error), error


async def test_a_task_is_evaluated_once_and_its_value_is_given_again() -> None:
    program = '(task "look" (:name (tool/look {:id 1})))'
    asked = Asked(
        f"(def a {program}) (quot 1 0)",
        f'(println {program}) (task-reset "look") (println (task "look" 7))',
        '(return {:total (task "look" 8)})',
        programs=PtcLisp(journal=True),
    )
    result = await asked.run()
    assert result.output.total == 7
    assert result.journal == {"look": 7}
    assert asked.told[1].splitlines()[:2] == ["n1", "7"]
    assert "Mission Log" not in asked.prompts[0]
    assert '- [✓] look: "n1"' in asked.prompts[1]
    calls = [message for message in result.messages if message.role == "tool"]
    assert len(calls) == 1


async def test_without_a_journal_tasks_are_evaluated_each_time_and_a_warning_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = Asked('(println (task "a" 1))', '(println (task "a" 2))', DONE)
    result = await asked.run()
    assert [told.splitlines()[0] for told in asked.told] == ["1", "2"]
    assert result.journal == {}
    assert sum("task_without_journal" in record.getMessage() for record in caplog.records) == 1


async def test_an_application_may_write_a_task() -> None:
    asked = Asked(DONE, '(return {:total (:n (task "price" {:n 1}))})', programs=PtcLisp(journal=True))
    first = await asked.run()
    second = await asked.agent.run({"rows": []}, after=first.with_journal({"price": {"n": 9}}))
    assert second.output.total == 9
    assert second.journal == {"price": {"n": 9}}


async def test_what_an_application_writes_is_a_value_of_programs() -> None:
    program = '(return {:total (sum (task "a" 0)) :names (task "b" 0)})'
    asked = Asked(DONE, program, programs=PtcLisp(journal=True))
    result = await asked.run()
    given: dict[str, Any] = {"a": {1, 2}, "b": ("x", "y")}
    again = await asked.agent.run({"rows": []}, after=result.with_journal(given))
    assert again.output == Report(total=3, names=["x", "y"])
    wrong: Any = {"a": [object()]}
    with pytest.raises(InvalidValue, match="an object of object"):
        result.with_journal(wrong)


async def test_without_programs_there_is_no_journal() -> None:
    result = await Asked("done", programs=None, output=None).run()
    assert (result.memory, result.journal, result.summaries) == ({}, {}, {})
    with pytest.raises(LookupError, match="writes no programs"):
        result.with_journal({"a": 1})


async def test_steps_of_the_plan_are_shown_with_what_was_said_of_them() -> None:
    asked = Asked(
        '(step-done "dial" "called bob") (foo)',
        '(step-done "dial" "called ann")',
        DONE,
        programs=PtcLisp(plan=["dial", ("tell", "Tell them")]),
    )
    result = await asked.run()
    assert "- [ ] dial\n- [ ] tell: Tell them" in asked.prompts[1]
    assert "- [✓] dial -- called ann\n- [ ] tell: Tell them" in asked.prompts[2]
    assert result.summaries == {"dial": "called ann"}
