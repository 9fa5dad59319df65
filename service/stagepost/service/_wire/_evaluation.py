"""What an evaluation has found."""

from pydantic import JsonValue

from ._output import Output


class JudgementFound(Output):
    """What a judge says about an answer."""

    passed: bool | None
    """Whether it is good; null if that is not what the judge says."""
    score: float | None
    """How good it is, by a measure of the judge's own."""
    feedback: str
    """Why."""
    error: str | None
    """Why the judge has said nothing: it has failed."""


class CellFound(Output):
    """What has become of one case with one agent (`evaluate`)."""

    agent: str
    """Name of the agent in the evaluation."""
    case: str
    """Id of the case."""
    is_good: bool
    """Whether there is an answer, and no judge has failed or says that it is bad."""
    output: JsonValue
    """What the agent has answered; null if it has failed."""
    error: str | None
    """Why the agent has failed, if it has."""
    judgements: dict[str, JudgementFound]
    """What each judge says, by name."""
    seconds: float
    """How long the agent took."""
    turns: int
    """How often its model was asked."""
    input_tokens: int
    """What its models have read."""
    output_tokens: int
    """What they have written."""
    cost: float | None
    """US dollars, where that is known."""
