"""The agents of the assistant, and the tools of the one that looks things up."""

from collections.abc import Callable, Mapping
from typing import Final

from pydantic import JsonValue

from stagepost.agents import Agent, Budget, Model, Retries, ToolContext, ToolUnavailable, tool
from stagepost.agents.quality import (
    Judge,
    Refined,
    Verdicts,
    judge_agent,
    numbers_in_data,
    refiner_agent,
    without_words,
)
from stagepost.service.assistant import RANGES, AssistantAgents, Composed, Extracted, InvalidRange, Plan

from .backend import Backend, as_json
from .data import USERS

_RETRIES: Final = Retries(attempts=2, first=0.1, jitter=0)  # a user waits
_RANGES: Final = f"{', '.join(RANGES)}, a date (2026-11-23) or two (2026-11-23:2026-11-27)"

PLANNER: Final = f"""\
You plan answers of a timesheet assistant. You get a message as JSON, with what was said before. Say whether data is \
needed. If so, data_request has query (hours_logged, projects, time_entries, summary or delete) and period \
({_RANGES}); for delete also entry_id. kind is timesheet_check, weekly_summary, today, last_entry or other. Propose \
criteria for the answer that can be checked with yes or no; the usual ones for the kind are there already."""

DATA: Final = """\
You look up timesheets with your tools, as data_request says. Give what they return as data, unchanged, and name the \
tools. If a tool fails, success is false, and error says why."""

COMPOSER: Final = """\
You write the answer of a timesheet assistant in Markdown, from the data that you get, and from nothing else. Follow \
the style. If there are no entries, say so. If the message is EMAIL, your last answer was too long: write it again, \
whole and unchanged."""

SINGLE: Final = f"""\
You are a timesheet assistant. You get a message as JSON, with what was said before. Look up what you need with your \
tools, with periods such as {_RANGES}, and answer. Follow the style."""


@tool(idempotent=True, retries=_RETRIES)
async def hours_logged(period: str, context: ToolContext[Backend]) -> Mapping[str, JsonValue]:  # noqa: D417  # models do not see the context
    """Hours and entries of some days.

    Args:
        period: today, yesterday, this_week, last_week, this_month, last_month, a date, or two dates with a colon.
    """
    return await _looked_up(period, context)


@tool(idempotent=True, retries=_RETRIES)
async def time_entries(period: str, context: ToolContext[Backend]) -> Mapping[str, JsonValue]:  # noqa: D417  # models do not see the context
    """All entries of some days, with notes.

    Args:
        period: As for hours_logged.
    """
    return await _looked_up(period, context)


@tool(idempotent=True, retries=_RETRIES)
async def summary(period: str, context: ToolContext[Backend]) -> Mapping[str, JsonValue]:  # noqa: D417  # models do not see the context
    """Hours of some days by project.

    Args:
        period: As for hours_logged.
    """
    return await _looked_up(period, context)


@tool(idempotent=True, retries=_RETRIES)
async def projects(context: ToolContext[Backend]) -> Mapping[str, JsonValue]:
    """The projects that hours can be entered for."""
    try:
        found = await context.deps.projects(context.labels["user"], context.secrets["timesheet_token"])
    except ConnectionError as error:
        raise ToolUnavailable(str(error)) from error
    return {"projects": [*found]}


@tool(needs_approval=True)
async def delete_entry(entry_id: str, context: ToolContext[Backend]) -> str:  # noqa: D417  # models do not see the context
    """Delete an entry, once a person has approved it.

    Args:
        entry_id: Id of the entry.
    """
    known = await context.deps.delete(context.labels["user"], entry_id, context.secrets["timesheet_token"])
    return "deleted" if known else "there is no such entry"


async def _looked_up(period: str, context: ToolContext[Backend]) -> Mapping[str, JsonValue]:
    """What the service has. Whose timesheet it is says the run, and not the model."""
    user = context.labels["user"]
    try:
        days, entries = await context.deps.entries(user, period, context.secrets["timesheet_token"])
    except InvalidRange as error:
        raise ValueError(str(error)) from error
    return as_json(days, entries, USERS[user])


def assistant_agents(models: Mapping[str, Model | str]) -> AssistantAgents:
    """The agents of both paths.

    Args:
        models: A model for each of planner, data, composer and single: cheaper ones where that is enough.
    """
    reading: list[Callable[..., object]] = [hours_logged, time_entries, summary, projects]
    return AssistantAgents(
        planner=Agent("planner", PLANNER, model=models["planner"], output=Plan, budget=Budget(turns=2)),
        data=Agent(
            "data", DATA, model=models["data"], output=Extracted, tools=[*reading, delete_entry], budget=Budget(turns=4)
        ),
        composer=Agent("composer", COMPOSER, model=models["composer"], output=Composed, budget=Budget(turns=2)),
        single=Agent("single", SINGLE, model=models["single"], output=Composed, tools=reading, budget=Budget(turns=6)),
    )


def judge(model: Model | str) -> Judge:
    """Who judges answers: another model than that which writes them, if there is another one."""
    agent: Agent[Verdicts] = judge_agent(model)
    polite = without_words("exception", "traceback", "your fault", "HTTP")
    return Judge(agent, checks={"numbers": numbers_in_data, "polite": polite})


def refiner(model: Model | str) -> Agent[Refined]:
    """Who improves answers that have failed."""
    return refiner_agent(model)
