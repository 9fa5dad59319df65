"""What a fork of a run begins with: pure functions over the run as it was read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, Literal, NamedTuple, TypeAlias

from pydantic_core import from_json

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import (
    Continued,
    Effect,
    EffectBelow,
    Forked,
    Frame,
    Item,
    ItemStatus,
    Keep,
    NewRun,
    Ref,
    RunInfo,
    SharedList,
    Snapshot,
    StoredValue,
    join_values,
    split_values,
)

from .._engine._branch import to_bytes
from .._engine._saying import first_begins
from .._execution._blobs import blobs_of
from .._execution._execution import numbers_behind
from .._ids import new_run_id
from .._values._append import NO_BLOBS, Elements
from .._values._layout import lay_out
from .._values._schema import Schema
from .._values._state import Value, Values
from ._continuing import Older, stored_form
from ._migration import Prepared
from ._standing import Standing
from ._starting import Order

EffectsChoice: TypeAlias = Literal["again", "keep"]
Changes: TypeAlias = Mapping[str, object]


_FAILED: Final = (ItemStatus.FAILED, ItemStatus.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOrder:
    """What is asked of a fork, beside the run that it is made of.

    Attributes:
        number: Of which number of that run's history; None for how it stands.
        changes: Values in the place of those of its state.
        effects: What becomes of effects that the other run has had after that point; None if there are none.
        order: As of any other new run.
    """

    number: int | None
    changes: Changes = field(default_factory=dict)
    effects: EffectsChoice | None = None
    order: Order


class Changed(NamedTuple):
    """Values that stand in the place of others.

    Attributes:
        values: They; of a list that grows the whole list.
        continued: Keys of lists that begin with those of other runs.
        older: The elements that these begin with.
    """

    values: Values
    continued: Mapping[str, Continued]
    older: Older


def begin_again(snapshot: Snapshot, effects: Sequence[Effect]) -> Snapshot:
    """A run as its fork begins: without what it waits for, and what has failed is to be tried again.

    Nobody takes it for one that this process has left: no run has the epoch 0.

    Args:
        snapshot: The run.
        effects: What is known of effects that are not to happen again.
    """
    items = tuple(map(_again, snapshot.items))
    return snapshot._replace(run=snapshot.run._replace(epoch=0), items=items, waits=(), effects=tuple(effects))


def _again(item: Item) -> Item:
    return item._replace(status=ItemStatus.WAITING, error=None) if item.status in _FAILED else item


def effects_after(snapshot: Snapshot, number: int | None) -> Sequence[Effect]:
    """Effects, and notes, of a run that its fork would have again: those of steps that had not ended at that point.

    Args:
        snapshot: The run as it was there.
        number: The number in its history; None for now.
    """
    if not snapshot.effects:
        return ()
    standing = Standing(snapshot)
    found = [effect for effect in snapshot.effects if _is_after(effect, number) or effect.place in standing]
    return sorted(found, key=lambda effect: (effect.number or 0, effect.place, effect.key))


def below_after(snapshot: Snapshot, effects: Iterable[EffectBelow]) -> Sequence[EffectBelow]:
    """Those effects of runs below a run that its fork would have again, by starting such runs again.

    Args:
        snapshot: The run as it was there.
        effects: All of them.
    """
    standing = Standing(snapshot)
    return [effect for effect in effects if effect.is_after or effect.starter is None or effect.starter in standing]


def _is_after(effect: Effect, number: int | None) -> bool:
    return number is not None and (effect.number is None or effect.number > number)


def changed(schema: Schema, before: Values, changes: Changes, older: Older, where: str) -> Changed:
    """Changes of a state, checked and in their stored form.

    Args:
        schema: What the states of the workflow are.
        before: The state.
        changes: What is given.
        older: Elements that lists begin with which go on with those of other runs.
        where: What it is, for errors.

    Raises:
        CannotStore: They are no part of a state of the workflow.
    """
    continued = {key: value for key, value in changes.items() if isinstance(value, Continued)}
    whole = {key: [*from_json(older[key].data), *each.then] for key, each in continued.items()}
    return Changed(schema.replaced({**changes, **whole}, before, where), continued, older)


def fork_of(snapshot: Snapshot, prepared: Prepared, order: ForkOrder, change: Changed, owner: int) -> NewRun:
    """The fork of a run.

    Args:
        snapshot: The run, as its fork begins, and as one of the workflow's version.
        prepared: What it goes on with.
        order: What is asked for.
        change: What is changed of its state.
        owner: Who runs it.
    """
    run, workflow, given = snapshot.run, prepared.definition.workflow, order.order
    values = None if prepared.migrated is None else prepared.migrated.values
    laid = _Laid(snapshot, numbers_behind(snapshot), values)
    root = laid.change(change)
    begins = first_begins(workflow.plan, root) if given.keep is Keep.ALL else ()
    return NewRun(
        new_run_id() if given.run_id is None else given.run_id,
        run.workflow,
        workflow.version,
        None,
        _input(run, change),
        owner,
        root,
        values=laid.values,
        shape=workflow.shape,
        trace=given.trace,
        keep=given.keep,
        remember_id=given.remember_id,
        blobs=blobs_of(change.values.values()) or {},
        continued=change.continued,
        labels={**run.labels, **given.labels},
        happened=begins,
        forked=Forked(
            run.run_id,
            snapshot.row,
            order.number,
            frames=tuple(frame for path, frame in laid.frames.items() if path),
            items=snapshot.items,
            lists=laid.shared,
            effects=snapshot.effects,
        ),
    )


def _input(run: RunInfo, change: Changed) -> bytes:
    """What a fork was started with: as the other run, but for what was changed."""
    told = {key: stored_form(each, _rest(change, key).data) for key, each in change.continued.items()}
    return join_values({**split_values(run.input), **to_bytes(change.values), **told})


def _rest(change: Changed, key: str) -> Elements:
    """What a list adds to that of another run."""
    whole = change.values[key]
    assert isinstance(whole, Elements)  # noqa: S101  # as only lists that grow go on with others
    return Elements(list(whole.parts[change.older[key].length :]), blobs=whole.blobs)


class _Laid:
    """The frames of a fork, and where their values go: large ones are copied, lists belong to both runs.

    Args:
        snapshot: The run.
        numbers: Counts its values and lists on.
        values: Rows of all its values that are not in the frames, if it was migrated: then nothing is shared.

    Attributes:
        frames: By path.
        values: Rows of values that are not in the frames.
        shared: Lists that begin with those of the other run.
    """

    def __init__(self, snapshot: Snapshot, numbers: Iterator[int], values: Sequence[StoredValue] | None) -> None:
        self.values = list(values or ())
        self.shared: list[SharedList] = []
        self._numbers = numbers
        self.frames = {
            path: frame._replace(seq=1, refs=self._refs(frame) if values is None else frame.refs)
            for path, frame in snapshot.frames.items()
        }

    def change(self, change: Changed) -> Frame:
        """Put changed values into the root frame; returns it."""
        root = self.frames[""]
        refs = {key: ref for key, ref in root.refs.items() if key not in change.values}
        dropped = {ref.number for key, ref in root.refs.items() if key not in refs}
        self.values = [value for value in self.values if value.path or value.number not in dropped]
        self.shared = [each for each in self.shared if each.path or each.key in refs]
        inside = {key: Value(data) for key, data in root.state.items() if key not in refs}
        begun = {key: Ref(next(self._numbers), each.length) for key, each in change.older.items() if each.length}
        updates = {**change.values, **{key: _rest(change, key) for key in begun}}
        blobs = blobs_of(change.values.values()) or NO_BLOBS
        layout = lay_out("", self._numbers, {**refs, **begun}, updates, change.values, blobs=blobs)
        self.values += layout.rows
        own = {key: value for key, value in {**inside, **change.values}.items() if key not in layout.refs}
        self.frames[""] = root._replace(state=to_bytes(own), refs=layout.refs)
        return self.frames[""]

    def _refs(self, frame: Frame) -> Mapping[str, Ref]:
        return {key: self._place(frame, key, ref) for key, ref in frame.refs.items() if ref.length != 0}

    def _place(self, frame: Frame, key: str, ref: Ref) -> Ref:
        if ref.length is None:
            self.values.append(StoredValue(frame.path, ref.number, None, frame.state[key]))
            return ref
        self.shared.append(SharedList(frame.path, key, ref))
        return Ref(next(self._numbers), ref.length)
