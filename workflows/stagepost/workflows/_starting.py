"""What a run starts with, and whether a stored one was started with the same."""

from collections.abc import Mapping
from dataclasses import replace

from pydantic import BaseModel

from stagepost.checkpoint import Frame, NewRun, RunInfo, StoredValue, join_values

from ._branch import first_frame, to_bytes
from ._ids import new_run_id
from ._layout import lay_out
from ._pattern import Pattern
from ._state import Values
from .errors import RunConflict


def new_run(
    workflow: Pattern,
    state: Mapping[str, object] | BaseModel | None,
    owner: str,
    run_id: str | None,
    key: str | None,
) -> NewRun:
    """A run before its first step.

    Raises:
        CannotStore: What to start with has no stored form.
        StepResultError: It is no state of the workflow.
    """
    run_id = new_run_id() if run_id is None else run_id
    values = workflow.program.schema.initial({} if state is None else state, f"the input of {workflow.name!r}")
    root, rows = _placed(first_frame(workflow.program, values), values)
    return NewRun(
        run_id, workflow.name, workflow.version, key, join_values(to_bytes(values)), owner, root, rows, workflow.shape
    )


def _placed(root: Frame, values: Values) -> tuple[Frame, tuple[StoredValue, ...]]:
    """A run's first frame with its large values placed."""
    layout = lay_out(root.path, root.seq, {}, values)
    return replace(root, refs=layout.refs), layout.rows


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
