"""How a run is to be started, what it starts with, and whether a stored one was started with the same."""

from collections.abc import Mapping
from dataclasses import field, replace
from itertools import count
from types import MappingProxyType
from typing import Final, NamedTuple

from pydantic import BaseModel

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import (
    CheckpointError,
    Frame,
    Keep,
    ListTooShort,
    NewRun,
    Ref,
    RunInfo,
    RunNotFound,
    StoredSchedule,
    join_values,
)

from .._engine._branch import first_frame, to_bytes
from .._engine._intermediates import Intermediate
from .._engine._saying import first_begins
from .._execution._blobs import blobs_of
from .._execution._stored_lists import StoredLists
from .._ids import check_given, new_run_id
from .._patterns._pattern import Pattern
from .._values._layout import lay_out
from .._values._secrets import Secrets
from .._values._state import Values, merged
from ..errors import RunConflict
from ._continuing import Older, check_continued, continued_in, stored_form

_NONE: Final[Older] = MappingProxyType({})
_BEYOND: Final = 2**62  # elements that no list has
_NOWHERE: Final = Frame("", 1, None, {})


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
        labels: What it can be found by.
        any_input: Whether the run that has its id already may have begun with something else.
        place: The step that starts it, if one does.
        schedule: The schedule that starts it, as it is to be saved with it.
    """

    keep: Keep
    run_id: str | None = None
    key: str | None = None
    remember_id: bool = False
    remember_key: bool = False
    trace: str | None = None
    intermediates: list[Intermediate] | None = None
    urgent: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    any_input: bool = False
    place: str | None = None
    schedule: StoredSchedule | None = None

    def check(self, secrets: Secrets, workflow: str) -> None:
        """See that what the run is named and found by are texts, and hold no secret.

        Raises:
            TypeError: One is no text.
            ValueError: One is empty, or too long.
            CannotStore: One holds a secret.
        """
        for name, given in (("key", self.key), ("trace", self.trace)):
            check_given(name, given)
        secrets.check_text(self.run_id, f"the id of a run of {workflow!r}")
        secrets.check_text(self.key, f"the key of a run of {workflow!r}")
        secrets.check_text(self.trace, f"the trace of a run of {workflow!r}")
        for text in (*self.labels.keys(), *self.labels.values()):
            secrets.check_text(text, f"a label of a run of {workflow!r}")


class Begun(NamedTuple):
    """A run that is about to be stored.

    Attributes:
        run: It, before its first step.
        values: What this step sees.
        missing: Why it cannot begin, if a list that it goes on with is not there. It is stored by nobody then, but
            found if it is stored already.
    """

    run: NewRun
    values: Values
    missing: CheckpointError | None = None


async def begun(
    workflow: Pattern, state: Mapping[str, object] | BaseModel | None, owner: int, order: Order, lists: StoredLists
) -> Begun:
    """A run before its first step.

    Args:
        workflow: Its workflow.
        state: What it starts with.
        owner: Who runs it.
        order: How it is to be started.
        lists: Those of other runs, with which its own may begin.

    Raises:
        CannotStore: What to start with has no stored form.
        StepResultError: It is no state of the workflow.
        CannotRead: Elements of other runs do not fit the workflow.
    """
    continued = continued_in(state)
    check_continued(workflow, continued)
    try:
        older = {key: await lists.older(each, key, workflow.plan.schema) for key, each in continued.items()}
    except (RunNotFound, ListTooShort) as missing:
        return Begun(lookup(workflow, state, owner, order), {}, missing)
    return new_run(workflow, state, owner, order, older)


def new_run(
    workflow: Pattern,
    state: Mapping[str, object] | BaseModel | None,
    owner: int,
    order: Order,
    older: Older = _NONE,
) -> Begun:
    """A run before its first step.

    Args:
        workflow: Its workflow.
        state: What it starts with.
        owner: Who runs it.
        order: How it is to be started.
        older: Elements of other runs' lists that its own begin with, by key.

    Raises:
        CannotStore: What to start with has no stored form.
        StepResultError: It is no state of the workflow.
        CannotRead: Elements of other runs do not fit the workflow.
    """
    new, added = _ordered(workflow, state, owner, order)
    values: Values = merged(older, added) if older else added
    if older and workflow.plan.schema.model is not None:
        workflow.plan.schema.read(values)
    numbers = count(1)
    begun = {key: Ref(next(numbers), each.length) for key, each in older.items() if each.length}
    layout = lay_out("", numbers, begun, added, values, blobs=new.blobs)
    root = first_frame(workflow.plan, values, refs=layout.refs, left_out=begun)
    begins = first_begins(workflow.plan, root) if order.keep is Keep.ALL else ()
    return Begun(replace(new, root=root, values=layout.rows, happened=begins), values)


def lookup(workflow: Pattern, state: Mapping[str, object] | BaseModel | None, owner: int, order: Order) -> NewRun:
    """A run that is found if it is there already and refused otherwise: its lists cannot begin as they should.

    Whoever starts a run again finds it, although those that it went on with are deleted.
    """
    new, _ = _ordered(workflow, state, owner, order)
    return replace(new, continued={key: replace(each, length=_BEYOND) for key, each in new.continued.items()})


def _ordered(
    workflow: Pattern, state: Mapping[str, object] | BaseModel | None, owner: int, order: Order
) -> tuple[NewRun, Values]:
    """A run that does not say yet where it stands, and what its starter gave."""
    continued = continued_in(state)
    given = {**_mapping(state), **{key: list(each.then) for key, each in continued.items()}} if continued else state
    added = workflow.plan.schema.initial({} if given is None else given, f"the input of {workflow.name!r}")
    told = {key: stored_form(each, added[key].data) for key, each in continued.items()}
    new = NewRun(
        new_run_id() if order.run_id is None else order.run_id,
        workflow.name,
        workflow.version,
        order.key,
        join_values({**to_bytes(added), **told}),
        owner,
        _NOWHERE,
        shape=workflow.shape,
        trace=order.trace,
        keep=order.keep,
        remember_id=order.remember_id,
        remember_key=order.remember_key,
        blobs=blobs_of(added.values()) or {},
        continued=continued,
        labels=order.labels,
        place=order.place,
        schedule=order.schedule,
    )
    return new, added


def _mapping(state: object) -> Mapping[str, object]:
    assert isinstance(state, Mapping)  # noqa: S101  # as a list of another run stands in it
    return state


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
