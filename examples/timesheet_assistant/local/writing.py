"""The composer's part: an answer in Markdown, from data. Pure functions."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from stagepost.agents import ModelRequest, ToolCall, call

_NAMES: Final = {
    "today": "today",
    "yesterday": "yesterday",
    "this_week": "this week",
    "last_week": "last week",
    "this_month": "this month",
    "last_month": "last month",
}
_ABILITIES: Final = (
    "I know your timesheet: ask for your hours of today, of this week or of any other days, for a summary by project, "
    "or for all entries of a month."
)


def write(question: Mapping[str, Any], _: ModelRequest) -> ToolCall:
    """Write an answer. Like many a model it likes Markdown, whatever the channel."""
    before = [str(line["text"]) for line in question["history"] if line["role"] == "assistant"]
    if before and question["channel"] == "email" and str(question["message"]).strip(" .!\n").upper() == "EMAIL":
        return call("return", response=before[-1], type="data")
    data = question.get("data")
    if data is None:
        return call("return", response=_ABILITIES, type="conversational")
    text = written(data, str(question["message"]).casefold())
    return call("return", response=text, type="data")


def written(data: Mapping[str, Any], message: str) -> str:
    """An answer from data.

    Args:
        data: What was found.
        message: What was asked, in small letters.
    """
    if "done" in data:
        return f"Your request to delete it: {data['done'].rstrip('.')}."
    if "entries" not in data:
        return "You can enter hours for these projects: " + ", ".join(data["projects"]) + "."
    period = days_of(data)
    if not data["entries"]:
        return f"There are no entries for {period}."
    return _told(data, message, period)


def _told(data: Mapping[str, Any], message: str, period: str) -> str:
    """An answer from entries: the last one, all, the only one, or their sums."""
    if "last entry" in message:
        last = data["entries"][-1]
        return f"Your last entry is of {_day(last['date'])}: {_hours(last['hours'])} for {last['project']}."
    if any(word in message for word in ("all ", "list", "every", "report", "entries")):
        return _every_entry(data, period)
    if len(data["entries"]) == 1:
        only = data["entries"][0]
        return f"For {period} you have entered {_hours(only['hours'])} for {only['project']}: {only['note']}."
    return _summary(data, period)


def days_of(data: Mapping[str, Any]) -> str:
    """The period of some data, in words."""
    period = data["period"]
    first, last = _day(period["first"]), _day(period["last"])
    name = _NAMES.get(period["name"])
    days = first if first == last else f"{first} to {last}"
    return f"{name} ({days})" if name else days


def plain_summary(data: Mapping[str, Any], period: str) -> str:
    """A summary without Markdown."""
    parts = ", ".join(f"{each['project']} {_hours(each['hours'])}" for each in data["projects"])
    return f"You have entered {_total(data)} for {period}: {parts}."


def _summary(data: Mapping[str, Any], period: str) -> str:
    rows = "\n".join(f"| {each['project']} | {each['hours']:g} |" for each in data["projects"])
    head = f"## Your timesheet, {period}\n\nYou have entered **{_total(data)}**."
    return f"{head}\n\n| Project | Hours |\n| --- | --- |\n{rows}"


def _every_entry(data: Mapping[str, Any], period: str) -> str:
    lines = [
        f"- {_day(each['date'])}: {_hours(each['hours'])} for {each['project']}. On that day you {each['note']}."
        for each in data["entries"]
    ]
    return f"You have entered {_total(data)} for {period}.\n\n" + "\n".join(lines)


def _total(data: Mapping[str, Any]) -> str:
    per_week = data.get("hours_per_week")
    of = f" of {per_week:g}" if per_week and data["period"]["name"] in ("this_week", "last_week") else ""
    return f"{data['total_hours']:g}{of} hours"


def _hours(hours: float) -> str:
    return f"{hours:g} hours"


def _day(text: str) -> str:
    return f"{date.fromisoformat(text):%a} {text}"
