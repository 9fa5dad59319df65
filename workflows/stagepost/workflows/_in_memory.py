"""Runs without a store."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import BaseModel

from stagepost.hub import Emitter, Hub, Observer

from ._branch import Branch, first_frame
from ._engine import check_hub, observed
from ._execution import Execution
from ._intermediates import Intermediate
from ._lifespans import entered
from ._secrets import Given, Secrets

if TYPE_CHECKING:
    from ._pattern import Pattern


async def run_in_memory(
    workflow: "Pattern",
    state: Mapping[str, object] | BaseModel | None,
    *,
    hub: Hub | None,
    deps: Any,
    observer: Observer | None,
    trace: str | None,
    intermediates: list[Intermediate] | None,
    secrets: Given | None,
    resources: object,
) -> Any:
    """Run a workflow without a store; returns the final state."""
    execution = Execution(f"memory-{uuid4().hex}", workflow.name, Emitter(observer), deps, hub, trace=trace or "")
    execution.intermediates, execution.secrets = intermediates, Secrets(secrets)
    execution.resources = resources
    branch = first_branch(workflow, state, execution)
    await _execute(workflow, branch)
    return branch.view()


def first_branch(workflow: "Pattern", state: Mapping[str, object] | BaseModel | None, execution: Execution) -> Branch:
    """Where a run in memory begins."""
    check_hub(workflow.name, workflow.program, execution.hub)
    values = workflow.program.schema.initial({} if state is None else state, workflow.name)
    execution.secrets.check_values(values, workflow.name)
    return Branch(execution, workflow.program, first_frame(workflow.program, values))


async def _execute(workflow: "Pattern", branch: Branch) -> None:
    if workflow.lifespan is None or branch.execution.resources is not None:
        await observed(branch.execution, branch, recovered=False)
        return
    failure: Exception | None = None
    async with entered(workflow.name, workflow.lifespan) as resources:
        branch.execution.resources = resources
        try:
            await observed(branch.execution, branch, recovered=False)
        except Exception as error:  # noqa: BLE001  # not the lifespan's affair: a task group in it would wrap it
            failure = error
    if failure is not None:
        raise failure
