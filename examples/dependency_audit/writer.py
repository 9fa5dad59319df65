"""The analyst with a language model: an agent writes the sentences of a finding, and all else stays as it was found.

Chosen by STAGEPOST_MODEL, such as ``openai/gpt-5-mini``. What is known about a distribution that breaks a rule, paths
on this machine among it, is sent to that model's provider.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stagepost.agents import Agent, Budget, LiteLLM, Model
from stagepost.hub import Context, Message
from stagepost.workflows import Runner

from .agents import Analyst, Judgement
from .analysis import ADVICE, write_finding
from .models import Finding, Value

NAME = "writer"

PROMPT = f"""You write the findings of an audit of the distributions that are installed in a Python environment.
You are given what is known about one of them, and which rules it breaks. For each violation write one sentence in plain
English: what is wrong, with the facts that matter, and what to do about it. Put the most serious one first. Claim
nothing that is not in the facts. What to do, by rule: {ADVICE}"""


class Sentences(Value):
    """From the writer: one sentence for each violation."""

    sentences: list[str]


class ModelAnalyst:
    """Asks the writer for the sentences of each finding."""

    async def __call__(self, asked: Message[Judgement], context: Context) -> Finding:
        """Write down what is wrong with one distribution; a model is asked where there is something to say."""
        finding = write_finding(asked.data.inspection, asked.data.violations)
        if not finding.violations:
            return finding
        told = await context.request(
            NAME,
            asked.data,
            expect=Sentences,
            timeout=None,
            headers=asked.headers,  # the key among them: behind a crash it joins the run that it began before
        )
        return finding.model_copy(update={"sentences": told.sentences})


def build_writer(model: Model) -> Agent[Sentences]:
    """The agent that writes."""
    return Agent(NAME, prompt=PROMPT, model=model, input=Judgement, output=Sentences, budget=Budget(turns=5))


@asynccontextmanager
async def model_analyst(runner: Runner, model: str) -> AsyncIterator[Analyst]:
    """An analyst whose writer is served by a runner.

    Args:
        runner: The runner.
        model: Name of the model, as litellm knows it.
    """
    async with LiteLLM(model) as opened:
        await runner.serve(build_writer(opened))
        yield ModelAnalyst()
