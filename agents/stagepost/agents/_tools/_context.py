"""What a tool may know beside its arguments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._models._model import Model


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Given to tools that have a parameter named ``context``; the model does not see that parameter.

    Attributes:
        run_id: The run. Runs in memory have one too.
        agent: Name of the agent.
        call_id: The model's name for the call; another turn may use the same.
        idempotency_key: The same text whenever this very call is executed, also after a crash; no other call has it.
        deps: What the process gave to the runner or to ``run``; never stored.
        model: The model of the agent that calls, for tools that ask one themselves.
        secrets: What the process gave to the runner or to ``run`` as secrets: never stored, masked in what tools tell.
    """

    run_id: str
    agent: str
    call_id: str
    idempotency_key: str
    deps: Any
    model: Model | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
