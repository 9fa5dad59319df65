"""What usual mistakes are told, and where: what is wrong, and what to write instead."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel
from tests.agents._ways import started, the_wait, working

from stagepost.agents import (
    Agent,
    Agents,
    Allow,
    Deny,
    Fallback,
    InvalidDecision,
    InvalidRequest,
    McpServer,
    NobodyToAsk,
    ScriptedModel,
    Tasks,
    call,
    tool,
)
from stagepost.checkpoint import CannotStore, WaitNotFound


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    return f"paid {amount}"


class Note(BaseModel):
    text: str = ""


def made(**options: Any) -> Agent[Any]:
    return Agent("a", "Be.", **{"model": ScriptedModel(["done"]), **options})


def paying(said: str = "done") -> Agent[str]:
    return Agent("a", "Pay.", model=ScriptedModel([call("pay", amount=7), said]), tools=[pay])


def test_a_prompt_comes_after_the_name() -> None:
    assert Agent("a", "You are a clock.").prompt == Agent("a", prompt="You are a clock.").prompt == "You are a clock."


some_agents: Any = Agents  # what a type checker would have said is not its turn here
some_script: Any = ScriptedModel
some_models: Any = Fallback
a_server: Any = McpServer.stdio
KEYED = "https://h/?key=secret"

MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "one tool": (lambda: made(tools=pay), r"tools= is a list, and not a single Tool: write \[ \] around it"),
    "a name for tools": (lambda: made(tools="pay"), r"tools='pay' is one text: use a list, \['pay'\]"),
    "an address for a tool": (lambda: made(tools=[KEYED]), r"'https://h/\?key=\*\*\*', .* McpServer.http"),
    "an address for a server": (lambda: made(servers=[KEYED]), r"https://h/\?key=\*\*\*', .* McpServer.http"),
    "a server that is none": (lambda: made(servers=[7]), "servers contains 7, which is not an McpServer$"),
    "one sub-agent": (lambda: made(sub_agents=made()), "sub_agents= is a list, and not a single Agent"),
    "one hook": (lambda: made(hooks=print), "hooks= is a list, and not a single"),
    "a number for a budget": (lambda: made(budget=5), r"budget=5 is not a Budget: give Budget\(turns=…"),
    "approvals": (
        lambda: made(approvals=True),
        r'approvals=True: give patterns of tools, such as \["send_\*"\] or \["\*"\]',
    ),
    "a class for a model": (lambda: made(model=ScriptedModel), "is not a model: give a name such as"),
    "one agent": (lambda: some_agents(made()), r"a list of agents, and not a single Agent: Agents\(\[…\]\)"),
    "agents by name": (lambda: some_agents({"a": made()}), "a list of agents, and not a single dict"),
    "one answer": (lambda: some_script("done"), r"a list of answers, and not a single one: \['done'\]"),
    "one model": (lambda: some_models("openai/x"), r"a list of models, and not one text: \['openai/x'\]"),
    "a list for a command": (lambda: a_server(["uvx", "x"]), "give the program, and its arguments one by one"),
}


@pytest.mark.parametrize(("make", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_where_it_is_made(make: Callable[[], Any], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        make()


def test_what_is_right_is_not_refused() -> None:
    made(tools=(each for each in [pay]), hooks=[], approvals=["*"], servers=[McpServer.http("http://h/")])


async def test_after_is_the_result_of_a_run() -> None:
    with pytest.raises(InvalidRequest, match="after='x' is not an AgentResult: give what an earlier run returned"):
        await made().run("go", after="x")  # type: ignore[arg-type]  # the mistake


async def says_true(made_call: object) -> Any:
    return True


@pytest.mark.parametrize("approve", [says_true, lambda _: True, True], ids=["async", "sync", "no function"])
async def test_approve_says_allow_or_deny(approve: Any) -> None:
    with pytest.raises(
        InvalidDecision, match=r'to a call of \'pay\' is to be Allow\(\), .* or Deny\("why"\), and not True'
    ):
        await paying().run("go", approve=approve)


async def test_approve_may_be_a_plain_function() -> None:
    result = await paying().run("go", approve=lambda _: Deny("no money"))  # type: ignore[arg-type,return-value]  # it works
    assert "denied by a person, pay was not called: no money" in str(result.messages)


async def test_an_approval_in_memory_says_who_can_be_asked() -> None:
    with pytest.raises(NobodyToAsk, match=r"run\(…, approve=…\), an async function .* Tasks\(runner\).decide\(…\)"):
        await paying().run("go")


def test_a_denial_has_its_reason_first() -> None:
    assert Deny("why") == Deny(reason="why") == Deny.model_validate({"kind": "deny", "reason": "why"})
    with pytest.raises(ValueError, match="extra"):
        Deny("why", whom="me")


async def test_decide_takes_allow_or_deny() -> None:
    agent = paying()
    async with working(agent) as runner:
        tasks, run = Tasks(runner), await started(runner, agent)
        wait = await the_wait(runner, run)
        for wrong in (True, "yes", None, Allow):
            with pytest.raises(InvalidDecision, match=r'the decision is to be Allow\(\), .* or Deny\("why"\)'):
                await tasks.decide(wait.id, wrong)  # type: ignore[arg-type]  # the mistake
        with pytest.raises(CannotStore, match=r"it is no valid Allow or Deny: Input should be .*, but it is True$"):
            await runner.answer(wait.id, True)
        (approval,) = await tasks.approvals()
        given: Any = approval
        with pytest.raises(TypeError, match=r"a PendingApproval: give its \.id, 'r/"):
            await tasks.decide(given, Allow())
        with pytest.raises(WaitNotFound, match="; open is r/"):
            await tasks.decide("r", Allow())
        await tasks.decide(wait.id, {"kind": "allow"})  # type: ignore[arg-type]  # as it comes from JSON
        await run.result()
