"""Criteria for usual kinds of requests, for whoever does not have them planned by a model."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ._criterion import ScorecardCriterion

_SMS: Final = ScorecardCriterion(
    id="sms_format",
    description="The form of a text message",
    expected="plain text without markdown, and at most 1,600 characters in each message",
)
_ANSWERS: Final = ScorecardCriterion(
    id="answers_question",
    description="Whether the answer is about what was asked",
    expected="it states the fact, or does the thing, that the question asks for, or says that it cannot",
)

BUILT_IN_CRITERIA: Final[Mapping[str, Sequence[ScorecardCriterion]]] = MappingProxyType(
    {
        "timesheet_check": (
            ScorecardCriterion(
                id="data_completeness",
                description="Whether all time entries of the data are covered",
                expected="it lists every entry, or sums them up, or says that there are none",
            ),
            ScorecardCriterion(
                id="time_period_clarity",
                description="Whether the period is named that the hours belong to",
                expected="it names the period, such as this week, or its dates",
            ),
            _SMS,
        ),
        "weekly_summary": (
            ScorecardCriterion(
                id="total_hours",
                description="Whether the total of the hours is stated",
                expected="it states the number of hours of the whole week, as the data has it",
            ),
            ScorecardCriterion(
                id="project_breakdown",
                description="Whether the hours are stated for each project",
                expected="it names every project of the data with its hours",
            ),
            _SMS,
        ),
        "today": (
            ScorecardCriterion(
                id="today_only",
                description="Whether it is about today's entries and no other day's",
                expected="every entry that it mentions has today's date in the data",
            ),
            ScorecardCriterion(
                id="entry_details",
                description="Whether each entry has its details",
                expected="it states project and hours of each entry, or says that there are none",
            ),
            _SMS,
        ),
        "last_entry": (
            ScorecardCriterion(
                id="response_completeness",
                description="Whether the last entry is described in full",
                expected="it states date, project and hours of the most recent entry, or says that there is none",
            ),
            ScorecardCriterion(
                id="clarity_and_conciseness",
                description="Whether it stays with the last entry",
                expected="it has at most three sentences, and mentions no entry but the most recent one",
            ),
            ScorecardCriterion(
                id="channel_appropriateness",
                description="Whether it has the form that its channel can show",
                expected="headings, tables and links appear only if the channel is email or teams",
            ),
        ),
        "other": (_ANSWERS,),
    }
)
"""Criteria by the kind of request; see `criteria_for`."""


def criteria_for(kind: str, *, channel: str | None = None) -> Sequence[ScorecardCriterion]:
    """The built-in criteria for a kind of request.

    Args:
        kind: A key of `BUILT_IN_CRITERIA`; anything else counts as ``other``.
        channel: The channel of the answer: the form of a text message is asked for only by ``sms``.
    """
    found = BUILT_IN_CRITERIA.get(kind, BUILT_IN_CRITERIA["other"])
    rest = [criterion for criterion in found if criterion.id != _SMS.id]
    return (*rest, _SMS) if channel == "sms" else tuple(rest)
