"""What users and models are told, and the instructions of agents for which no prompt is kept."""

from datetime import UTC, datetime
from typing import Final

from stagepost.agents import PromptContext, PromptFunction

from ._config import WorkerConfig

REFUSED: Final = "My data does not confirm the answer, so I would rather not give it. Please ask again."
FAILED: Final = "The request could not be completed because of an internal problem. Please try again."


def worker_failed(worker: str) -> str:
    """What is said in the place of a worker's answer that has failed."""
    return f"Something went wrong while I worked on your {worker} request. Please try again."


def worker_silent(worker: str) -> str:
    """What is said in the place of a worker's answer that is empty."""
    return f"I could not get any {worker} information just now. Please try again."


def tool_failed(service: str) -> str:
    """What is said in the place of the result of a supervisor's own tool that has failed."""
    return f"I cannot reach {service} at the moment. Please try again."


def supervisor_prompt(workers: tuple[WorkerConfig, ...]) -> PromptFunction:
    """The instructions of a supervisor, for whoever keeps none of their own."""
    known = "\n".join(f"- {worker.tool}: {worker.description}" for worker in workers)

    def prompt(_context: PromptContext) -> str:
        return (
            f"You coordinate {len(workers)} specialists and answer the user. "
            f"Today is {datetime.now(UTC):%Y-%m-%d} (UTC).\n\nSpecialists, by the tools that ask them:\n{known}\n\n"
            "Send each question to the specialist it belongs to, with everything that the specialist has to know: a "
            "specialist sees neither this conversation nor the others. If a question touches several fields, "
            "ask several specialists at once. Combine what they report into one answer. State only what specialists "
            "have reported, with their sources and units; never invent anything. If a specialist fails, say so and "
            "offer to try again. If you do not know what the user wants, explain what you can do."
        )

    return prompt


def worker_prompt(worker: WorkerConfig) -> str:
    """The instructions of a worker, for whoever keeps none of their own."""
    tools = ", ".join(worker.tools)
    return (
        f"You are the {worker.name} specialist. Answer the request with what your tools report ({tools}), and with "
        "nothing else. Give numbers with their units, and name your sources. Be brief. If they do not have it, say so."
    )
