"""The parts of the judge and of the refiner. Pure functions."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stagepost.agents import ModelRequest, ToolCall, call

from .writing import days_of, plain_summary, written

Rule = Callable[[str, Mapping[str, Any]], bool]


def judge(question: Mapping[str, Any], _: ModelRequest) -> ToolCall:
    """Decide about each criterion that this judge knows; about the others it says that it cannot tell."""
    answer, data = str(question["answer"]), question.get("data") or {}
    verdicts = []
    for criterion in question["criteria"]:
        rule = _RULES.get(criterion["id"])
        passed = None if rule is None else rule(answer, data)
        feedback = "" if passed else f"The answer should be so: {criterion['expected']}."
        verdicts.append({"id": criterion["id"], "passed": passed, "feedback": feedback})
    return call("return", verdicts=verdicts)


def refine(question: Mapping[str, Any], _: ModelRequest) -> ToolCall:
    """Write the answer anew, from the data, without Markdown."""
    data, message = question.get("data"), str(question["question"]).casefold()
    if not data or "entries" not in data:
        text = str(question["original"]).replace("*", "").replace("#", "").replace("`", "")
    elif len(data["entries"]) > 1 and "|" in question["original"]:
        text = plain_summary(data, days_of(data))
    else:
        text = written(data, message)
    return call("return", response=text, changes=[f"changed for {each['id']}" for each in question["failed"]])


def stubborn(question: Mapping[str, Any], _: ModelRequest) -> ToolCall:
    """Bring the answer back as it was."""
    return call("return", response=question["original"], changes=[])


def _says_all(answer: str, data: Mapping[str, Any]) -> bool:
    if not data.get("entries"):
        return "no entries" in answer or "entries" not in data
    total = f"{data['total_hours']:g}"
    return total in answer or all(each["date"] in answer for each in data["entries"])


def _names_days(answer: str, data: Mapping[str, Any]) -> bool:
    words = ("today", "yesterday", "week", "month")
    period = data.get("period", {})
    return any(word in answer.casefold() for word in words) or str(period.get("first")) in answer


def _names_projects(answer: str, data: Mapping[str, Any]) -> bool:
    return all(each["project"] in answer for each in data.get("projects", ()))


def _always(_answer: str, _data: Mapping[str, Any]) -> bool:
    return True


_RULES: Final[Mapping[str, Rule]] = {
    "data_completeness": _says_all,
    "time_period_clarity": _names_days,
    "total_hours": _says_all,
    "project_breakdown": _names_projects,
    "today_only": _always,
    "entry_details": _names_projects,
    "response_completeness": _always,
    "clarity_and_conciseness": lambda answer, _data: answer.count(". ") < 3,  # noqa: PLR2004  # sentences
    "channel_appropriateness": _always,
    "answers_question": lambda answer, _data: bool(answer.strip()),
}
