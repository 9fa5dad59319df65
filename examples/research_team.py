"""A lead that speaks with other agents, in two conversations at once, in a run that survives its process.

``python examples/research_team.py`` asks what the documentation of this repository says about crashes, and shows the
conversations of the run at its end. With ``--store FILE`` the run stays: interrupt it, or kill it, and the same command
goes on where it was; what was answered is not asked for again.
"""

import argparse
import logging
import sys
import tempfile
from pathlib import Path

import anyio
from offline import example_model
from offline.scripts import research as script
from rich.console import Console
from rich.panel import Panel

from stagepost.agents import Agent, Model, Task, Tasks, tool
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import ExtraMissing, RunFailed, Runner

QUESTION = "What does the documentation say about crashes?"
DOCS = Path(__file__).resolve().parents[1] / "docs"


@tool(idempotent=True)
def search(phrase: str) -> list[str]:
    """Find paragraphs of the documentation that hold a phrase; each begins with its page.

    Args:
        phrase: A word, or a few, as they stand in the text.
    """
    pages = {page.name: page.read_text().split("\n\n") for page in sorted(DOCS.glob("*.md"))}
    texts = [
        f"{page}: {' '.join(text.split())}" for page, parts in pages.items() for text in parts if text[:1].isalpha()
    ]
    return [text for text in texts if phrase.lower() in text.lower()][:10]


def research_team(model: Model) -> Agent[str]:
    """The lead, with its team."""
    reader = Agent(
        "reader",
        prompt="Say what the documentation says, and where. Search it first: it has no other words than its own.",
        description="Searches the documentation. Ask it about one thing at a time.",
        tools=[search],
    )
    critic = Agent(
        "critic",
        prompt="Say in one sentence what the claim that you are given leaves open.",
        description="Finds what is wrong with a claim.",
    )
    return Agent(
        "lead",
        prompt="Answer the question. Have your team look into its parts at the same time, ask back, and have the most "
        "important claim checked before you rely on it.",
        model=model,
        sub_agents=[reader, critic],
    )


async def work(question: str, store: Path) -> None:
    """Do the research, or go on with it, and show what was said."""
    async with example_model(script) as model, SqliteStore(store) as opened:
        lead = research_team(model)
        async with Runner(opened, workflows=[lead]) as runner:
            await runner.recover()
            tasks = Tasks(runner)
            run = await tasks.start(lead, question, key=question)
            await run.result()
            show(await tasks.get(run.id))


def show(task: Task) -> None:
    """Show a task that has ended: what the agents have said to each other, and what has come of it."""
    console = Console(highlight=False)
    for talk in task.conversations:
        said = "\n".join(f"> {exchange.message}\n{exchange.response}" for exchange in talk.exchanges)
        console.print(Panel(said, title=f"{talk.agent} ({talk.id})", title_align="left"))
    console.print(task.output)
    console.print(f"{task.turns} turns of the lead, {task.usage.tokens} tokens", style="dim")


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="research_team", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--store", type=Path, help="a file for the run; by default one that is thrown away")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logging.getLogger("stagepost").setLevel(logging.CRITICAL)  # a failure is told in one sentence, below
        try:
            anyio.run(work, options.question, options.store or Path(folder) / "research.db")
        except (ExtraMissing, RunFailed) as error:
            print(f"research team: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
