"""The planner's part: what a message asks for, by its words. Pure functions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from stagepost.agents import ModelRequest, ToolCall, call

_PERIODS: Final = (
    (r"\d{4}-\d{2}-\d{2}(?:\s*(?::|to|until|-|and)\s*\d{4}-\d{2}-\d{2})?", None),
    (r"\byesterday\b", "yesterday"),
    (r"\b(?:today|last entry|most recent)\b", "today"),
    (r"\blast week\b", "last_week"),
    (r"\blast month\b", "last_month"),
    (r"\bmonth\b", "this_month"),
    (r"\bweek\b", "this_week"),
)
_ABOUT: Final = re.compile(
    r"\b(time ?sheets?|hours?|entr(?:y|ies)|worked|work|logged|booked|projects?|summary|report|day|yesterday|today|week"
    r"|month)\b|\d{4}-\d{2}-\d{2}",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(r"(?:and|what about|how about)\b", re.IGNORECASE)
_DELETE: Final = re.compile(r"\b(?:delete|remove)\b.*?\b([a-z]+-\d{4})\b", re.IGNORECASE)
_KINDS: Final = {
    r"\b(?:last|latest|most recent) entry\b": ("time_entries", "last_entry"),
    r"\b(?:which|what|list) projects\b": ("projects", "other"),
    r"\b(?:all|list|every|report|entries|details)\b": ("time_entries", "timesheet_check"),
    r"\b(?:summary|summarise|summarize)\b": ("summary", "weekly_summary"),
    r"\btoday\b": ("time_entries", "today"),
}
_DATES: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def plan(question: Mapping[str, Any], _: ModelRequest) -> ToolCall:
    """How to answer a message."""
    text = str(question["message"])
    before = [str(line["text"]) for line in question["history"] if line["role"] == "user"]
    deletion = _DELETE.search(text)
    if deletion:
        wanted = {"query": "delete", "entry_id": deletion[1].lower(), "period": "today"}
        return call("return", needs_data=True, data_request=wanted, kind="other", steps=["delete the entry"])
    if not _ABOUT.search(text) or text.strip(" .!\n").upper() == "EMAIL":
        return call("return", needs_data=False, kind="other", steps=["answer at once"])
    query, kind = _kind(text, before)
    wanted = {"query": query, "period": period_in(text, before)}
    return call(
        "return",
        needs_data=True,
        data_request=wanted,
        kind=kind,
        steps=[f"look up {query}", "write the answer"],
        criteria=_criteria(),
    )


def period_in(text: str, before: Sequence[str] = ()) -> str:
    """The days that a text names, or that it goes on with; otherwise this week."""
    earlier = reversed(before) if _GOES_ON.match(text) else ()
    for said in (text, *earlier):
        for pattern, name in _PERIODS:
            found = re.search(pattern, said, re.IGNORECASE)
            if found:
                return name or ":".join(_DATES.findall(found[0]))
    return "this_week"


def _kind(text: str, before: Sequence[str]) -> tuple[str, str]:
    """The query, and the kind of request."""
    said = text.casefold()
    for words, found in _KINDS.items():
        if re.search(words, said):
            return found
    if before and _GOES_ON.match(text):
        return _kind(before[-1], ()) if period_in(text) != "yesterday" else ("time_entries", "timesheet_check")
    return "hours_logged", "timesheet_check"


def _criteria() -> list[dict[str, str]]:
    """What this planner proposes each time: two of these are of no use, and are dropped."""
    return [
        {
            "id": "numbers",
            "description": "Whether the figures are those of the data",
            "expected": "each number of the answer is in the data",
        },
        {"id": "polite", "description": "Whether words are missing that blame", "expected": "no technical words"},
        {"id": "lovely", "description": "The response is good and creative", "expected": "a creative answer"},
        {"id": "short", "description": "short", "expected": "short"},
    ]
