"""The final answer: text, or text that has to be a model's JSON."""

import re
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from stagepost.hub import describe_error
from stagepost.workflows import own_failure

from .._models._model import OutputSchema
from .._validation import problems

_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why an answer cannot be used, in words for the model."""

    text: str


def read_answer(text: str, output: type[BaseModel] | None) -> BaseModel | str | Complaint:
    """The output that an answer holds, or what is wrong with it.

    Args:
        text: The answer. JSON may stand in a fence, as models like to write it.
        output: What it has to be; None for plain text.
    """
    if output is None:
        return text
    fenced = _FENCED.fullmatch(text)
    try:
        return output.model_validate_json(fenced[1] if fenced else text)
    except ValidationError as error:
        return Complaint(
            f"Your answer is no valid {output.__name__}: {problems(error)}. "
            "Answer again, with nothing but the corrected JSON.",
        )
    except BaseException as error:  # noqa: BLE001  # a validator of the user's raised something else
        failure = own_failure(error)
        return Complaint(f"Your answer is no valid {output.__name__}: {describe_error(failure)}. Answer again.")


def output_schema(output: type[BaseModel] | None) -> OutputSchema | None:
    """What the model is told of the output."""
    return None if output is None else OutputSchema(output.__name__, output.model_json_schema())
