"""How a run is to be started, what it starts with, and whether a stored one was started with the same."""

from collections.abc import Mapping

from pydantic import BaseModel

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Keep, NewRun, RunInfo, join_values

from .._engine._branch import first_frame
from .._engine._intermediates import Intermediate
from .._execution._blobs import blobs_of
from .._patterns._pattern import Pattern
from .._values._layout import lay_out
from .._values._secrets import Secrets
from ..errors import RunConflict
from ._ids import new_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a run is to be started, beside its workflow and state.

    Attributes:
        keep: What stays of it.
        run_id: Its id; None for one that is made.
        key: Its start-once key.
        remember_id: Whether its id stays taken when retention has deleted it.
        remember_key: The same of its key.
        trace: The trace that it belongs to.
        intermediates: A list that gets its states.
        urgent: Whether it takes no slot.
        any_input: Whether the run that has its id already may have begun with something else.
    """

    keep: Keep
    run_id: str | None = None
    key: str | None = None
    remember_id: bool = False
    remember_key: bool = False
    trace: str | None = None
    intermediates: list[Intermediate] | None = None
    urgent: bool = False
    any_input: bool = False

    def check(self, secrets: Secrets, workflow: str) -> None:
        """See that what the run is named and found by are texts, and hold no secret.

        Raises:
            TypeError: One is no text.
            ValueError: One is empty.
            CannotStore: One holds a secret.
        """
        for name, given in (("key", self.key), ("trace", self.trace)):
            if not isinstance(given, str | None):
                raise TypeError(f"{name}={given!r:.80}: give a text")
            if given == "":
                raise ValueError(f"{name}='': give a text that is not empty, or None for no {name}")
        secrets.check_text(self.run_id, f"the id of a run of {workflow!r}")
        secrets.check_text(self.key, f"the key of a run of {workflow!r}")
        secrets.check_text(self.trace, f"the trace of a run of {workflow!r}")


def new_run(
    workflow: Pattern,
    state: Mapping[str, object] | BaseModel | None,
    owner: int,
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
