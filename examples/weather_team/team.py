"""The team: a lead, an agent for the weather, and a report that a person has to approve."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from stagepost.agents import Agent, Budget, Model, ToolContext, tool

CITIES: Final[Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        "Oslo": (4, "rain"),
        "Miami": (29, "sun"),
        "Tokyo": (17, "clouds"),
        "Bergen": (7, "heavy rain"),
        "Rome": (22, "sun"),
    }
)


@tool(idempotent=True)
async def get_weather(city: str, day: str = "today") -> str:
    """Weather of a city.

    Args:
        city: Its name.
        day: today or tomorrow.
    """
    if city not in CITIES:
        raise LookupError(f"there is no station in {city}")
    degrees, sky = CITIES[city]
    return f"{degrees + 2 if day == 'tomorrow' else degrees} °C and {sky}"


@tool(needs_approval=True)
async def send_report(to: str, text: str, context: ToolContext[list[str]]) -> str:  # noqa: D417  # models do not see it
    """Send a report.

    Args:
        to: Who gets it.
        text: The report.
    """
    context.deps.append(f"to {to}: {text}")
    return f"sent to {to}"


def weather_team(model: Model | str) -> Agent[str]:
    """The lead, with its team.

    Args:
        model: What all of them ask.
    """
    weather = Agent(
        "weather",
        "Report the weather with get_weather. If a question goes on with an earlier one, it is about the same city.",
        description="Knows the weather of a city, today and tomorrow. Ask about one city at a time, and ask on in the "
        "same conversation.",
        tools=[get_weather],
    )
    return Agent(
        "lead",
        "Answer questions about the weather. Ask the weather agent about all cities at the same time. Ask on in the "
        "conversation that a city already has. Send a report only if you are asked to.",
        model=model,
        sub_agents=[weather],
        tools=[send_report],
        budget=Budget(turns=12),
    )
