"""The desk's part: an order needs a number of shares, and a report needs nothing. Pure functions."""

import json
from collections.abc import Sequence

from stagepost.agents import ChatMessage, ToolCall, ToolMessage, call

from ..stocks import COMPANIES
from .understanding import Order, last_words, order_in, report_in


def desk(messages: Sequence[ChatMessage]) -> str | list[ToolCall]:
    """The worker for orders and reports."""
    request = last_words(messages)
    last = messages[-1]
    order = order_in(request)
    if isinstance(last, ToolMessage):
        return _told(last, order)
    report = report_in(request)
    if report is not None:
        return [call("send_report", to=report.to, subject=report.subject)]
    if order is None or order.ticker is None:
        return "I can place an order for the shares of a company that I know, or send a report."
    if order.quantity is not None:
        return [call("place_order", side=order.side, ticker=order.ticker, quantity=order.quantity)]
    return [call("ask_customer", question=f"How many shares of {COMPANIES[order.ticker]} shall I {order.side}?")]


def _told(result: ToolMessage, order: Order | None) -> str | list[ToolCall]:
    if result.is_error:
        return _refused(result.text)
    if result.tool == "ask_customer" and order is not None:
        given = json.loads(result.text)
        return [
            call(
                "place_order",
                side=order.side,
                ticker=order.ticker,
                quantity=given["quantity"],
                validity=given.get("validity", "today"),
            )
        ]
    told = result.text.strip().rstrip(".")
    return "It is done." if told == "it was done" else f"It is done: {told}."


def _refused(text: str) -> str:
    """Why something was not done; a person who has denied it has given a reason after the last colon."""
    why, _, reason = text.strip().rstrip(".").rpartition(": ")
    if "denied" in why:
        return f"I have not placed the order, as somebody has denied it: {reason}."
    return f"I have not done it: {reason}."
