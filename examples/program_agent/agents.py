"""Three agents with the same question: one programs, one calls tools, one has a program written for all months."""

from collections.abc import Sequence

from stagepost.agents import Agent, Budget, tool
from stagepost.programs import PtcLisp

from .models import Programmer, Reader
from .orders import Order, Orders, Report, name_of

PROMPT = "Report how much is owed in open orders, and by which three customers most of it."
PAGE = 100


@tool(idempotent=True)
async def customer(id: int) -> str:  # noqa: A002  # what it is
    """The name of a customer."""
    return name_of(id)


def with_programs() -> Agent[Report]:
    """Its answers are programs, which read the orders without any of them being sent."""
    return Agent(
        "programmer",
        PROMPT,
        model=Programmer(),
        tools=[customer],
        input=Orders,
        output=Report,
        programs=PtcLisp(),
        budget=Budget(turns=5),
    )


def with_tools(orders: Sequence[Order]) -> Agent[Report]:
    """It reads the orders page by page, and so does its model, again in each turn."""

    @tool(idempotent=True)
    async def read_orders(page: int) -> list[Order]:
        """One page of orders, from 0; an empty one after the last."""
        return list(orders[page * PAGE : (page + 1) * PAGE])

    budget = Budget(turns=200, tool_calls=200)
    return Agent("reader", PROMPT, model=Reader(), tools=[read_orders, customer], output=Report, budget=budget)


def to_compile() -> Agent[Report]:
    """Its model writes one program, which is kept."""
    return Agent(
        "monthly",
        PROMPT,
        model=Programmer(),
        input=Orders,
        output=Report,
        programs=PtcLisp(),
        budget=Budget(turns=1),
    )
