"""How a program came about."""

from datetime import datetime

from stagepost._dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileMetadata:
    """How a program came about.

    Attributes:
        compiled_at: When.
        tokens_used: Tokens of all answers of the model.
        turns: How many answers there were.
        model: Name of the model.
    """

    compiled_at: datetime
    tokens_used: int
    turns: int
    model: str
