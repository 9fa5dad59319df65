"""The smallest agent: a prompt, a model, and a tool. ``python examples/hello_agent.py`` asks it once."""

import anyio
from offline import example_model
from offline.scripts import weather as script

from stagepost.agents import Agent, tool


@tool(idempotent=True)
async def get_weather(city: str) -> str:
    """Weather of a city now."""
    return "30 °C and sunny" if city == "Miami" else "12 °C and rain"


async def main() -> None:
    """Ask it."""
    async with example_model(script) as model:
        weather = Agent("weather", prompt="Answer questions about the weather.", model=model, tools=[get_weather])
        result = await weather.run("How is the weather in Miami?")
        print(result.output)


if __name__ == "__main__":
    anyio.run(main)
