"""A service with runs of each kind, to be looked at: orders, articles, a clerk that asks before it pays."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
from pydantic import BaseModel, Field

from stagepost.agents import Agent, FunctionModel, ModelResponse, Tasks, Usage, call, external_tool, tool
from stagepost.checkpoint import CheckpointStore, MemoryStore
from stagepost.workflows import (
    END,
    Chain,
    Graph,
    Parallel,
    Receive,
    Retry,
    Runner,
    State,
    StepContext,
    Wait,
    key_equals,
    step,
)


class Release(BaseModel):
    """What is decided about an order."""

    carrier: Literal["post", "courier", "van"] = Field("post", description="Who brings it.")
    express: bool = Field(default=False, description="Today instead of tomorrow.")
    weight: float = Field(1.5, gt=0, description="Kilograms.")
    note: str = Field("", description="Printed on the parcel.")


@step
async def check(state: State) -> Mapping[str, object]:
    return {"checked": True, "lines": [{"sku": sku, "count": 1} for sku in state.get("skus", ["mug"])]}


async def reserve(sku: str, context: StepContext) -> dict[str, object]:
    if sku == "unicorn" and not context.deps.get("has_unicorns"):
        raise LookupError("no unicorn is left in the store at Lyon")
    return {"sku": sku, "shelf": len(sku)}


@step
async def charge(state: State, context: StepContext) -> Mapping[str, object]:
    async def pay() -> str:
        return f"payment-{state.get('customer', 0)}"

    return {"payment": await context.once("charge", pay)}


async def print_label(state: State, context: StepContext) -> Mapping[str, object]:
    if state.get("broken") and not context.deps.get("printer"):
        raise ConnectionError("the label printer at dock 4 does not answer: connection refused")
    return {"parcel": "P-2291", "shipped": True}


ship = step("ship", print_label, retry=Retry(attempts=2, first=0, jitter=0, on=ConnectionError))


orders = Chain(
    "orders",
    [
        check,
        Parallel("reserve", reserve, over="skus"),
        charge,
        Wait("release", expect=Release, show=lambda state: {"payment": state["payment"], "lines": state["lines"]}),
        ship,
    ],
)
quick_orders = Chain("quick_orders", [check, charge, ship])


@step
async def draft(state: State) -> Mapping[str, object]:
    number = state.get("drafts", 0) + 1
    return {"drafts": number, "text": f"Draft {number} on {state.get('topic', 'tides')}.\nIt has two lines."}


@step
async def review(state: State) -> Mapping[str, object]:
    return {"good": state["drafts"] >= 2}


article = Graph("article")
article.add("draft", draft)
article.add("review", review)
article.add("publish", Wait("publish", expect=bool, show=lambda state: state["text"]))
article.start("draft")
article.edge("draft", "review")
article.edge("review", "publish", when=key_equals("good", True))
article.edge("review", "draft")
article.edge("publish", END)

mail = Chain("mail", [Receive("letter", expect=str)])


@tool(needs_approval=True)
async def pay_invoice(supplier: str, euros: float) -> str:
    """Pay an invoice."""
    return f"paid {euros:.2f} EUR to {supplier}"


@tool(idempotent=True)
async def find_invoice(supplier: str) -> str:
    """Find the invoice of a supplier."""
    return f"{supplier}: invoice 118, 240.00 EUR, due on Friday"


class Which(BaseModel):
    question: str


ask_person = external_tool("ask_person", "Ask a person.", parameters=Which, returns=Literal["now", "on Friday"])


def think(request: Any) -> Any:
    last = request.messages[-1]
    if last.role == "user" and "when" in last.text:
        return call("ask_person", question="When is it to be paid?")
    if last.role == "user":
        return ModelResponse(
            text="I look for the invoice.",
            thinking="The person wants an invoice paid. I have to find it before I can pay it.",
            calls=[call("find_invoice", supplier="Acme")],
            usage=Usage(input_tokens=420, output_tokens=61, cost=0.0021, reasoning_tokens=24),
        )
    if last.role == "tool" and last.tool == "find_invoice":
        return call("pay_invoice", supplier="Acme", euros=240.0)
    return f"Done: {last.text}."


clerk = Agent("clerk", "Pay invoices.", model=FunctionModel(think), tools=[find_invoice, pay_invoice, ask_person])
WORKFLOWS = (orders, quick_orders, article, mail, clerk)


def runner(store: CheckpointStore | None = None, **options: Any) -> Runner:
    given: dict[str, Any] = {"keep": "all", "deps": {}, **options}
    return Runner(store or MemoryStore(), workflows=WORKFLOWS, **given)


async def fill(runner: Runner) -> None:
    """Runs of each kind, each as far as it gets by itself."""
    tasks = Tasks(runner)
    started = [
        await runner.start(
            orders, {"customer": 7, "skus": ["mug", "plate"]}, run_id="order-1041", labels={"customer": "7"}
        ),
        await runner.start(
            orders, {"customer": 9, "skus": ["mug", "unicorn", "cup"]}, run_id="order-1042", labels={"customer": "9"}
        ),
        await runner.start(
            quick_orders,
            {"customer": 12, "broken": True},
            run_id="order-1043",
            labels={"customer": "12", "shop": "Lyon"},
        ),
        await runner.start(quick_orders, {"customer": 7}, run_id="order-1040", labels={"customer": "7"}),
        await runner.start(article, {"topic": "tides"}, run_id="article-tides"),
        await runner.start(mail, run_id="mail-1"),
        await tasks.start("clerk", "Pay what we owe Acme", task_id="clerk-1"),
        await tasks.start("clerk", "when is Acme paid?", task_id="clerk-2"),
    ]
    for run in started:
        await run.settled()
    await runner.cancel((await runner.start(mail, run_id="mail-0")).id)


@asynccontextmanager
async def opened(store: CheckpointStore | None = None, **options: Any) -> AsyncIterator[Runner]:
    made = runner(store, **options)
    async with made.store, made:
        yield made


async def _main(path: Path) -> None:
    from stagepost.checkpoint import SqliteStore

    async with opened(SqliteStore(path)) as made:
        await fill(made)


if __name__ == "__main__":
    import sys

    anyio.run(_main, Path(sys.argv[1]))
