"""What an evaluation is made of: cases, what agents answer, and what judges say about it."""

from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Case(BaseModel):
    """A request, and what is known of a good answer.

    Attributes:
        id: Unique among the cases.
        request: What agents are asked: a text, or a mapping of the fields of their input.
        expected: A good answer, for judges that compare; None if there is none.
        about: Whatever else judges are to know.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=200)]
    request: JsonValue
    expected: JsonValue = None
    about: Mapping[str, JsonValue] = {}


class CaseAnswer(BaseModel):
    """What judges get.

    Attributes:
        case: The case.
        agent: The name of the agent in the evaluation.
        output: What it has answered, as JSON.
    """

    model_config = ConfigDict(frozen=True)

    case: Case
    agent: str
    output: JsonValue


class Judgement(BaseModel):
    """What a judge says about an answer.

    Attributes:
        passed: Whether it is good; None if that is not what the judge says.
        score: How good it is, by a measure of the judge's own; None if the judge does not measure.
        feedback: Why.
        error: Why the judge has said nothing: it has failed.
    """

    model_config = ConfigDict(frozen=True)

    passed: bool | None = None
    score: float | None = None
    feedback: str = ""
    error: str | None = None

    @classmethod
    def of(cls, said: object) -> Self:
        """A judgement of what a judge has returned: one, a bool, a number, a text, or None for "cannot say".

        Raises:
            TypeError: It is something else.
            ValueError: The score is no finite number, or the feedback no valid text: neither can be kept.
        """
        made = cls._read(said)
        if made.score is not None and not isfinite(made.score):
            raise ValueError(f"{made.score} is no score: return a finite number, or None if it cannot be told")
        made.feedback.encode()
        return made

    @classmethod
    def _read(cls, said: object) -> Self:
        match said:
            case cls():
                return said
            case BaseModel() | Mapping():
                return cls.model_validate(said if isinstance(said, Mapping) else said.model_dump())
            case bool() | None:
                return cls(passed=said)
            case int() | float():
                return cls(score=float(said))
            case str():
                return cls(feedback=said)
        raise TypeError(f"{said!r:.80} is no judgement: return a bool, a number, a text or a Judgement")


class EvaluationCell(BaseModel):
    """What has become of one case with one agent.

    Attributes:
        agent: The name of the agent in the evaluation.
        case: Id of the case.
        output: What it has answered, as JSON; None if it has failed.
        error: Why it has failed, if it has.
        judgements: What each judge says, by name; none if there was no answer.
        seconds: How long the agent took.
        turns: How often its model was asked.
        input_tokens: What its models have read.
        output_tokens: What they have written.
        cost: US dollars, where that is known.
    """

    model_config = ConfigDict(frozen=True)

    agent: str
    case: str
    output: JsonValue = None
    error: str | None = None
    judgements: Mapping[str, Judgement] = {}
    seconds: float = 0.0
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    @property
    def is_good(self) -> bool:
        """Whether there is an answer, and no judge has failed or says that it is bad."""
        said = self.judgements.values()
        return self.error is None and all(each.error is None and each.passed is not False for each in said)
