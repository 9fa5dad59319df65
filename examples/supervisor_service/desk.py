"""What the desk does: it has effects, so people are asked before, and after a crash in the middle.

Orders need an approval. An order without a number of shares needs an answer. A report takes some seconds to be sent:
whoever kills the process in these seconds is asked afterwards whether it went out, and finds that in the folder
``outbox``.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

import anyio
from pydantic import BaseModel, Field

from stagepost.agents import Tool, ToolContext, external_tool, tool

from .stocks import COMPANIES


class OrderQuestion(BaseModel):
    """What a customer is asked."""

    question: str


class OrderDetails(BaseModel):
    """What a customer answers."""

    quantity: Annotated[int, Field(title="Number of shares", ge=1, le=1000)]
    validity: Annotated[Literal["today", "this week", "this month"], Field(title="The order is valid")] = "today"
    confirmation: Annotated[bool, Field(title="Send me a confirmation")] = True
    note: Annotated[str, Field(title="Note for the desk", max_length=200)] = ""


def desk_tools(folder: Path, *, seconds: float) -> Sequence[Tool[..., object]]:
    """The tools ``place_order``, ``ask_customer`` and ``send_report``.

    Args:
        folder: Orders and reports are written into its folder ``outbox``.
        seconds: How long sending a report takes.
    """
    outbox = anyio.Path(folder / "outbox")

    async def write(kind: str, context: ToolContext[None], text: str) -> str:
        await outbox.mkdir(parents=True, exist_ok=True)
        number = sha256(context.idempotency_key.encode()).hexdigest()[:6].upper()
        await (outbox / f"{kind}-{number}.txt").write_text(text)
        return number

    @tool(needs_approval=True, on_unknown="park")
    async def place_order(
        side: Literal["buy", "sell"], ticker: str, quantity: int, context: ToolContext[None], validity: str = "today"
    ) -> str:
        """Place an order for {quantity} shares of {ticker}.

        Args:
            side: Whether to buy or to sell.
            ticker: The short name of the share, such as AAPL.
            quantity: How many shares.
            validity: How long the order is valid.
            context: Of the call.
        """
        if ticker not in COMPANIES:
            raise LookupError(f"no share with the ticker {ticker!r} is listed here")
        number = await write("order", context, f"{side} {quantity} {ticker}, valid {validity}\n")
        return f"order {number} is placed: {side} {quantity} {ticker}, valid {validity}"

    @tool(on_unknown="park")
    async def send_report(to: str, subject: str, context: ToolContext[None]) -> str:
        """Send a report about {subject} to {to}.

        Args:
            to: Who gets it.
            subject: What it is about.
            context: Of the call.
        """
        await anyio.sleep(seconds / 2)
        number = await write("report", context, f"To: {to}\nSubject: {subject}\n")
        await anyio.sleep(seconds / 2)
        return f"report {number} about {subject} was sent to {to}"

    ask_customer = external_tool(
        "ask_customer",
        "Ask the customer how many shares, and for how long the order is valid.",
        parameters=OrderQuestion,
        returns=OrderDetails,
    )
    return [place_order, ask_customer, send_report]
