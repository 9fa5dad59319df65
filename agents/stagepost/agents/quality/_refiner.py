"""Who improves an answer that has failed: an agent that gets the data and the failed criteria, and need not invent."""

from typing import Final

from pydantic import BaseModel, JsonValue
from pydantic_core import to_json

from .._agent._agent import Agent
from .._definition._budget import Budget
from .._models._model import Model
from .._models._settings import ModelSettings
from ._attempts import Attempt
from ._candidate import Candidate

_PROMPT: Final = """\
You improve an answer that has failed some criteria. You get a JSON object: the question, the original answer, the \
data that it is made from, the channel that it goes out by, and the failed criteria with what has to change. Change \
what the criteria ask for, and nothing else. State no fact that is neither in the data nor in the original answer."""


class Refined(BaseModel):
    """An improved answer.

    Attributes:
        response: The whole answer.
        changes: What was changed, a few words each.
    """

    response: str
    changes: list[str] = []


def refiner_agent(
    model: Model | str | None = None, *, name: str = "refiner", settings: ModelSettings | None = None
) -> Agent[Refined]:
    """An agent for `JudgeAndRefine`. It answers in one turn.

    Args:
        model: The model that it asks.
        name: Its name.
        settings: Settings for the model.
    """
    return Agent(
        name,
        _PROMPT,
        model=model,
        output=Refined,
        budget=Budget(turns=1),
        settings=ModelSettings() if settings is None else settings,
        description="Improves answers that have failed criteria.",
    )


def refinement_of(original: str, attempt: Attempt, candidate: Candidate) -> str:
    """What a refiner is asked: JSON.

    Args:
        original: The answer as it was written, before it was formatted for its channel.
        attempt: The attempt that has failed.
        candidate: What was judged.
    """
    failed = [
        criterion.model_dump(include={"id", "description", "expected", "feedback"})
        for criterion in attempt.scorecard.failed()
    ]
    given: dict[str, JsonValue] = candidate.model_dump(mode="json", include={"question", "channel", "data"})
    return to_json({**given, "original": original, "failed": failed}).decode()


def read_refined(answer: object) -> Refined:
    """The improved answer, as an agent has given it: `Refined`, a mapping of its fields, or a text.

    Raises:
        ValueError: It is none of these, or empty.
    """
    made = Refined(response=answer) if isinstance(answer, str) else Refined.model_validate(answer)
    if not made.response.strip():
        raise ValueError("the refined answer is empty")
    return made
