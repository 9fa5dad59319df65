"""Ask one question about thousands of orders in three ways, and compare what each of them costs."""

import sys
import tempfile
from pathlib import Path

import anyio

from stagepost.agents import AgentResult, CompiledAgent, Recorder

from .agents import PAGE, to_compile, with_programs, with_tools
from .orders import Report, orders_of, report_on

COUNT = 4_000
SAMPLE = {"orders": [{"id": 1, "customer": 7, "country": "NO", "state": "open", "total": 12.5}]}


def main() -> int:
    """Run the demonstration; returns the exit code."""
    anyio.run(show)
    return 0


async def show() -> None:
    """All of it."""
    orders = orders_of(1, COUNT)
    title(f"One question about {COUNT:,} orders: how much is owed, and by whom most of it?")
    print("Both models are on this machine and follow rules where a real one thinks; 4 characters count as a token.")

    title("1. An agent whose answers are programs")
    recorder = Recorder(content=True)
    programs = await with_programs().run({"orders": orders}, tracing=recorder)
    for number, span in enumerate(recorder.last.find("program"), 1):
        print(f"program {number}:")
        print(indented(str(span.input)))
    said = next(message.text for message in programs.messages[1:] if message.role == "user")
    print("what the model saw of the first one:")
    print(indented(said))
    print(recorder.last.to_turns())

    title(f"2. An agent that calls tools, {PAGE} orders a page")
    tools = await with_tools(orders).run("Report on the orders.")
    print(f"it has read {COUNT // PAGE} pages, each of which its model got again in all later turns")
    check(report_on(orders), programs.output, tools.output)

    title("3. What it took")
    compare(tools, programs)
    print("The programs have read the same orders, but their model has not: it saw a sample and what was printed.")

    title("4. One program for all months: compiled, saved, read, and run without a model")
    await compiled()


async def compiled() -> None:
    """Have a program written once, and run it on the orders of other months."""
    made = await CompiledAgent.compile(to_compile(), sample=SAMPLE)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "monthly.clj"
        file.write_text(f"; {made.signature}\n{made.source}\n")
        print(indented(file.read_text()))
        if made.metadata is not None:
            print(f"written by {made.metadata.model!r} in {made.metadata.turns} answer, for all months\n")
        text = file.read_text()
    signature = text.splitlines()[0].removeprefix("; ")
    loaded = CompiledAgent.load(text, signature, name="monthly", output=Report)
    for month in range(2, 6):
        orders = orders_of(month, COUNT)
        report = await loaded.execute({"orders": orders})
        same = (report.open_orders, report.owed) == (report_on(orders).open_orders, report_on(orders).owed)
        print(f"month {month}: {report.open_orders:,} open orders, {report.owed:>12,.2f} owed; 0 tokens; right: {same}")


def check(*reports: Report) -> None:
    """See that all say the same, and say it."""
    right, *others = reports
    print(f"\n{right.open_orders:,} open orders, {right.owed:,.2f} owed, most of it by:")
    for debtor in right.debtors:
        print(f"  {debtor.name:<10} {debtor.owes:>10,.2f}")
    print(f"both agents have said so: {all(other == right for other in others)}")


def compare(tools: AgentResult[Report], programs: AgentResult[Report]) -> None:
    """Print the costs side by side."""
    rows = [
        ("turns of the model", tools.turns, programs.turns),
        ("tokens read", tools.usage.input_tokens, programs.usage.input_tokens),
        ("tokens written", tools.usage.output_tokens, programs.usage.output_tokens),
        ("tokens in all", tools.usage.tokens, programs.usage.tokens),
    ]
    print(f"{'':<20}{'tools':>14}{'programs':>14}{'ratio':>10}")
    print("-" * 58)
    for what, one, other in rows:
        print(f"{what:<20}{one:>14,}{other:>14,}{one / other:>9.1f}x")


def title(text: str) -> None:
    """Print a title."""
    print(f"\n{text}\n{'=' * len(text)}")


def indented(text: str) -> str:
    """A text that stands out."""
    return "".join(f"    {line}\n" for line in text.strip().splitlines())


if __name__ == "__main__":
    sys.exit(main())
