"""An assistant whose agents do what a test says, with an outbox that counts."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import Any

import anyio

from stagepost.agents import Agent, FunctionModel, ModelRequest, ToolCall, call
from stagepost.agents.quality import Judge, QualityMetrics, ValidationFailureLog, judge_agent, refiner_agent
from stagepost.checkpoint import MemoryStore, SqliteStore
from stagepost.hub import Hub
from stagepost.service.assistant import (
    Assistant,
    AssistantAgents,
    AssistantRequest,
    AssistantWorkflow,
    Composed,
    Extracted,
    Plan,
    StageBudgets,
    User,
)
from stagepost.service.channels import Channels, OutgoingPart
from stagepost.workflows import Runner

PATIENT = StageBudgets.of(60)  # on a busy machine, too
DATA = {"period": "this week", "total_hours": 32, "of": 40}
GOOD = "You have entered 32 of 40 hours this week."


def says(answer: Any) -> Callable[[Mapping[str, Any]], Any]:
    """A rule that always has the same answer."""

    def rule(_question: Mapping[str, Any]) -> Any:
        return answer

    return rule


class Outbox:
    """Keeps what was sent."""

    takes_our_id = True

    def __init__(self, fail: Callable[[OutgoingPart], None] | None = None) -> None:
        self.sent: list[OutgoingPart] = []
        self._fail = fail

    async def send(self, delivery: OutgoingPart) -> str:
        if self._fail is not None:
            self._fail(delivery)
        if delivery.id not in {each.id for each in self.sent}:
            self.sent.append(delivery)
        return f"receipt {delivery.id}"

    def texts(self, to: str) -> list[str]:
        return [each.part.content for each in self.sent if each.to == to]


FOUND = says({"success": True, "data": DATA, "tools_used": ["hours"]})
WRITTEN = says({"response": GOOD, "type": "data"})
REFINED = says({"response": GOOD})
ALONE = says({"response": "alone: 32 hours"})


@dataclass
class Rules:
    """What each agent says to a question: a mapping of the fields of its answer, or an error that it raises."""

    planner: Callable[[Mapping[str, Any]], Any] = lambda question: {
        "needs_data": "hello" not in question["message"],
        "data_request": {"period": "this_week"},
        "kind": "timesheet_check",
    }
    data: Callable[[Mapping[str, Any]], Any] = FOUND
    composer: Callable[[Mapping[str, Any]], Any] = WRITTEN
    judge: Callable[[Mapping[str, Any]], Any] = lambda question: verdicts(question, lambda answer: "week" in answer)
    refiner: Callable[[Mapping[str, Any]], Any] = REFINED
    single: Callable[[Mapping[str, Any]], Any] = ALONE
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    slow: Mapping[str, float] = field(default_factory=dict)

    def model(self, name: str) -> FunctionModel:
        async def answer(request: ModelRequest) -> ToolCall:
            question = json.loads(next(each.text for each in request.messages if each.role == "user"))
            self.asked.append((name, question))
            await anyio.sleep(self.slow.get(name, 0))
            said = getattr(self, name)(question)
            if isinstance(said, Exception):
                raise said
            return call("return", **said)

        return FunctionModel(answer)

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


def verdicts(question: Mapping[str, Any], decide: Callable[[str], Any]) -> dict[str, Any]:
    passed = decide(question["answer"])
    said = [{"id": each["id"], "passed": passed, "feedback": "name the period"} for each in question["criteria"]]
    return {"verdicts": said}


@dataclass
class Desk:
    """An assistant, open."""

    assistant: Assistant
    runner: Runner
    hub: Hub
    store: Any
    outbox: Outbox
    rules: Rules
    metrics: QualityMetrics
    failures: list[ValidationFailureLog]
    workflow: AssistantWorkflow


def request(message: str = "Check my timesheet", number: int = 1, **given: Any) -> AssistantRequest:
    values = {
        "request_id": f"r{number}",
        "conversation_id": "c1",
        "message": message,
        "channel": "sms",
        "to": "+47",
        "user": User(id="ada"),
        **given,
    }
    return AssistantRequest.model_validate(values)


def made(rules: Rules, outbox: Any, **options: Any) -> tuple[AssistantWorkflow, QualityMetrics, list[Any]]:
    """The workflow of some rules."""
    metrics, failures = QualityMetrics(), list[ValidationFailureLog]()
    agents = AssistantAgents(
        planner=Agent("planner", "Plan.", model=rules.model("planner"), output=Plan),
        data=Agent("data", "Look up.", model=rules.model("data"), output=Extracted),
        composer=Agent("composer", "Write.", model=rules.model("composer"), output=Composed),
        single=Agent("single", "Do all.", model=rules.model("single"), output=Composed),
    )
    senders = dict.fromkeys(("sms", "email", "whatsapp", "teams"), outbox)
    given = {
        "senders": senders,
        "budgets": PATIENT,
        "channels": Channels(),
        "metrics": metrics,
        "on_failure": failures.append,
        **options,
    }
    judge, refiner = Judge(judge_agent(rules.model("judge"))), refiner_agent(rules.model("refiner"))
    return AssistantWorkflow(agents, judge, refiner, **given), metrics, failures


@asynccontextmanager
async def desk(
    rules: Rules | None = None,
    *,
    path: Path | None = None,
    outbox: Any = None,
    clock: Callable[[], float] = time,
    **options: Any,
) -> AsyncIterator[Desk]:
    """Open an assistant."""
    rules, outbox = rules or Rules(), outbox or Outbox()
    workflow, metrics, failures = made(rules, outbox, **options)
    async with AsyncExitStack() as stack:
        store: MemoryStore | SqliteStore = MemoryStore() if path is None else SqliteStore(path)
        await stack.enter_async_context(store)
        hub = await stack.enter_async_context(Hub())
        runner = await stack.enter_async_context(Runner(store, hub=hub, workflows=[workflow], clock=clock))
        assistant = await stack.enter_async_context(Assistant(workflow, runner))
        await runner.recover()
        yield Desk(assistant, runner, hub, store, outbox, rules, metrics, failures, workflow)
