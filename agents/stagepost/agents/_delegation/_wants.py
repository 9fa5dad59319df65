"""What a state wants to be done next."""

from collections.abc import Mapping
from typing import Any


def wants_one(given: Mapping[str, Any]) -> bool:
    """Whether the calls of the last answer are made one after another."""
    calls: int = given["calls"]
    return calls == 1


def wants_several(given: Mapping[str, Any]) -> bool:
    """Whether some calls of the last answer may run at once."""
    calls: int = given["calls"]
    return calls > 1


def is_in_program(given: Mapping[str, Any]) -> bool:
    """Whether a program is under way."""
    return given.get("program") is not None


def wants_summary(given: Mapping[str, Any]) -> bool:
    """Whether a summary has to be written before the model is asked."""
    return "view" in given and given["view"].due is not None
