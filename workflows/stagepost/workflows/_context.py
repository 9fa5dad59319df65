"""What a step may know and use beside its state."""

from dataclasses import dataclass
from typing import Any

from stagepost.hub import Hub


@dataclass(frozen=True, slots=True)
class StepContext:
    """Given to steps that have a parameter named ``context``.

    Attributes:
        run_id: The run. Runs in memory have one too.
        workflow: Name of the run's workflow.
        path: Where the step stands: names from the root, items as ``name[3]``.
        visit: Which visit of a graph's node this is, from 1; 0 outside of graphs.
        deps: What the process gave to the runner or to ``run``; never stored.
        hub: The hub of the runner or of ``run``, if there is one.
        around: Visits of the fan-outs that the step is inside of, outermost first; all 0 outside of graphs.
    """

    run_id: str
    workflow: str
    path: str
    visit: int
    deps: Any
    hub: Hub | None
    around: tuple[int, ...] = ()

    @property
    def idempotency_key(self) -> str:
        """The same text whenever this very step, visit and item runs, also after a crash; no other step has it."""
        visits = (*self.around, self.visit)
        return f"{self.run_id}/{self.path}" + (f"#{'.'.join(map(str, visits))}" if any(visits) else "")
