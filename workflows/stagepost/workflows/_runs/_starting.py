"""What a run starts with, and whether a stored one was started with the same."""

from collections.abc import Mapping

from pydantic import BaseModel

from stagepost.checkpoint import NewRun, RunInfo, join_values

from .._engine._branch import first_frame
from .._execution._blobs import blobs_of
from .._patterns._pattern import Pattern
from .._values._layout import lay_out
from ..errors import RunConflict
from ._ids import new_run_id
from ._orders import Order


def new_run(
    workflow: Pattern,
    state: Mapping[str, object] | BaseModel | None,
    owner: str,
    order: Order,
) -> NewRun:
    """A run before its first step.

    Raises:
        CannotStore: What to start with has no stored form.
        StepResultError: It is no state of the workflow.
    """
    values = workflow.plan.schema.initial({} if state is None else state, f"the input of {workflow.name!r}")
    root = first_frame(workflow.plan, values)
    layout = lay_out(root.path, root.seq, {}, values, values)
    return NewRun(
        new_run_id() if order.run_id is None else order.run_id,
        workflow.name,
        workflow.version,
        order.key,
        join_values(root.state),
        owner,
        root._replace(refs=layout.refs) if layout.refs else root,
        layout.rows,
        workflow.shape,
        order.trace,
        order.keep,
        order.remember_id,
        order.remember_key,
        blobs_of(values.values()) or {},
    )


def check_workflow(info: RunInfo, name: str) -> None:
    """See that a stored run is one of a workflow.

    Raises:
        RunConflict: It is another one's.
    """
    if info.workflow != name:
        raise RunConflict(info.run_id, f"workflow ({info.workflow!r})")


def check_same(info: RunInfo, new: NewRun) -> None:
    """See that a stored run was started with the same.

    Raises:
        RunConflict: It had another input.
    """
    if info.input != new.input:
        raise RunConflict(info.run_id, "input")
