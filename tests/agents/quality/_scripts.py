"""Models and workflows for tests of quality: what they say is a function of what they are asked."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from stagepost.agents import FunctionModel, ModelRequest, ToolCall, call
from stagepost.agents.quality import Candidate, Judge, JudgeAndRefine, ScorecardCriterion, judge_agent, refiner_agent
from stagepost.workflows import Chain

NAMES_TOTAL = ScorecardCriterion(
    id="names_total", description="Whether the total is stated", expected="it states 32 hours"
)
NAMES_PERIOD = ScorecardCriterion(
    id="names_period", description="Whether the period is named", expected="it names this week"
)
SMS = ScorecardCriterion(id="sms_format", description="The form of a text message", expected="plain text, short")


class Asked:
    """Counts what models are asked."""

    def __init__(self) -> None:
        self.judged: list[dict[str, Any]] = []
        self.refined: list[dict[str, Any]] = []


def asked_json(request: ModelRequest) -> dict[str, Any]:
    """The question of a request, as JSON."""
    said: dict[str, Any] = json.loads(next(each.text for each in request.messages if each.role == "user"))
    return said


def judging(asked: Asked, decide: Callable[[str, str], bool | None]) -> FunctionModel:
    """A model that decides about each criterion of an answer with a function of (id, answer)."""

    def answer(request: ModelRequest) -> ToolCall:
        given = asked_json(request)
        asked.judged.append(given)
        verdicts = []
        for criterion in given["criteria"]:
            passed = decide(criterion["id"], given["answer"])
            verdicts.append({"id": criterion["id"], "passed": passed, "feedback": "" if passed else "say it"})
        return call("return", verdicts=verdicts)

    return FunctionModel(answer)


def always(value: Any) -> Callable[..., Any]:
    """A function that has one result, whatever it is given."""

    def give(*_given: object) -> Any:
        return value

    return give


def contains(words: Mapping[str, str]) -> Callable[[str, str], bool | None]:
    """Criteria that are fulfilled if the answer contains a word."""
    return lambda criterion, answer: words[criterion] in answer


def refining(asked: Asked, text: str) -> FunctionModel:
    """A model that always has the same improved answer."""

    def answer(request: ModelRequest) -> ToolCall:
        asked.refined.append(asked_json(request))
        return call("return", response=text, changes=["said it"])

    return FunctionModel(answer)


def candidate(state: Mapping[str, Any]) -> Candidate:
    """What is judged."""
    return Candidate(text=state["draft"], question=state.get("question", ""), channel="sms", data={"hours": 32})


def checked(judge: Any, refiner: Any = None, **options: Any) -> Chain:
    """A workflow that checks a draft."""
    given = {"candidate": candidate, "criteria": [NAMES_TOTAL, NAMES_PERIOD], "answer": "draft", **options}
    pattern = JudgeAndRefine(
        "checked",
        judge if isinstance(judge, Judge) else Judge(judge_agent(judge)),
        None if refiner is None else refiner_agent(refiner),
        **given,
    )
    return Chain("work", [pattern])
