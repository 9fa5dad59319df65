"""The workers as configuration, and what they and the supervisor are told. One more worker is one more entry here."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from stagepost.service.supervisor import WorkerConfig

PROMPTS: Final = MappingProxyType(
    {
        "weather-worker": (
            "Report the weather with get_weather: sky, °C, humidity, wind. Report tomorrow if it is asked for."
        ),
        "stock-worker": (
            "Report prices with get_stock_price: company, ticker, price with currency, change since yesterday."
        ),
        "knowledge-worker": (
            "Answer with what search_knowledge finds, and nothing else. Cite the titles of the articles that you use, "
            "each in square brackets: [Calls in doubt]. If nothing is found, say so."
        ),
        "desk-worker": (
            "Place orders with place_order and send reports with send_report. If an order has no number of shares, ask "
            "the customer with ask_customer first. Tell what the tools report."
        ),
    }
)


def worker_configs(model: str) -> Sequence[WorkerConfig]:
    """The workers.

    Args:
        model: Name of the model that they ask.
    """
    return (
        WorkerConfig(
            name="weather",
            model=model,
            tools=("get_weather",),
            prompt_name="weather-worker",
            description="Send questions about the weather of a city here: now, and tomorrow. Ask once for each city.",
        ),
        WorkerConfig(
            name="stock",
            model=model,
            tools=("get_stock_price",),
            prompt_name="stock-worker",
            description="Send questions about prices of shares here, with the ticker if you know it.",
        ),
        WorkerConfig(
            name="knowledge",
            model=model,
            tools=("search_knowledge",),
            prompt_name="knowledge-worker",
            description="Send questions about stagepost here: agents, workflows, crashes, approvals, streams and more.",
        ),
        WorkerConfig(
            name="desk",
            model=model,
            tools=("place_order", "ask_customer", "send_report"),
            prompt_name="desk-worker",
            description="Send orders for shares here, and reports that are to be sent to somebody.",
            deadline=7 * 24 * 3600.0,  # seconds: people may take their time
        ),
    )
