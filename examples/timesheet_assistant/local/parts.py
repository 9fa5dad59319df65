"""A model for each part."""

import json
from collections.abc import Mapping
from typing import Any, Final

from stagepost.agents import ModelRequest, ToolCall, ToolMessage, call

from ..backend import Failures
from .judging import judge, refine, stubborn
from .looking_up import look_up
from .model import LocalModel
from .planning import plan
from .writing import write

_TOO_SLOW: Final = 60.0  # seconds


def local_models(failures: Failures, pace: float = 0.0) -> Mapping[str, LocalModel]:
    """A model for each agent, by its name.

    Args:
        failures: What is to go wrong.
        pace: Seconds that each thinks.
    """

    def slow() -> float:
        return _TOO_SLOW if failures.planner_slow else pace

    def refining(question: Mapping[str, Any], request: ModelRequest) -> ToolCall:
        return (stubborn if failures.refiner_stubborn else refine)(question, request)

    return {
        "planner": LocalModel(plan, pace=slow),
        "data": LocalModel(look_up, pace=lambda: pace),
        "composer": LocalModel(write, pace=lambda: pace, is_down=lambda: failures.composer_down),
        "quality": LocalModel(judge, pace=lambda: pace, is_down=lambda: failures.judge_down),
        "refiner": LocalModel(refining, pace=lambda: pace),
        "single": LocalModel(alone, pace=lambda: pace),
    }


def alone(question: Mapping[str, Any], request: ModelRequest) -> ToolCall:
    """All parts in one: no criteria, no judge, no refinement."""
    last = request.messages[-1]
    planned = json.loads(plan(question, request).arguments)
    if isinstance(last, ToolMessage):
        given = json.loads(look_up({"data_request": {}}, request).arguments)
        if not given["success"]:
            return call("return", response=f"Error: {given['error']}", type="error")
        return write({**question, "data": given["data"]}, request)
    if not planned["needs_data"] or planned["data_request"]["query"] == "delete":
        return write(question, request)
    return look_up(planned, request)
