"""What kind of state a workflow has: a plain `State`, or a model of the user's."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stagepost.checkpoint import (
    PLAIN,
    Attachments,
    CannotRead,
    CannotStore,
    TypedCodec,
    codec_for,
    join_values,
    split_values,
)

from ..errors import DefinitionError, StepResultError, UnknownField
from ._append import Append, Elements, ListCodec, split_list
from ._state import BearingValue, State, Stored, Types, Value, Values, added, merged, store_plain, storing


class Schema(Protocol):
    """How values become a state that a step sees, and how what a step returns becomes values.

    Attributes:
        lists: Keys of lists that only grow.
        types: Codecs of the keys of plain states that have types.
        model: Model of the states; None for plain ones.
    """

    lists: frozenset[str]
    types: Types
    model: type[BaseModel] | None

    def view(self, values: Values) -> Any:
        """The state that a step sees, made anew."""
        ...

    def read(self, values: Values) -> None:
        """See that stored values can be read.

        Raises:
            CannotRead: One does not fit its type any more.
        """
        ...

    def initial(self, given: object, where: str) -> dict[str, Stored]:
        """The values that a run starts with.

        Raises:
            CannotStore: `given` is no state, or a value has no stored form.
        """
        ...

    def replaced(self, given: Mapping[str, object], before: Values, where: str) -> dict[str, Stored]:
        """Values that stand in the place of others; of a list that grows the whole list.

        Raises:
            CannotStore: They are no part of a state, or a value has no stored form.
        """
        ...

    def adopt(self, stored: Mapping[str, bytes], before: Values, where: str) -> dict[str, Stored]:
        """Values that are in their stored form already, as part of the state.

        Raises:
            CannotStore: The state has no place for them.
        """
        ...

    def updates(self, result: object, before: Values, step: str) -> dict[str, Stored]:
        """What a step's result changes.

        Raises:
            StepResultError: The result is no update.
            CannotStore: A value has no stored form.
        """
        ...

    def changed(self, state: Any, before: Values) -> Sequence[str]:
        """What of a state that `view` has made is other than what it was made of."""
        ...


class PlainSchema:
    """States are `State`; some keys may have a type."""

    model: type[BaseModel] | None = None

    def __init__(self, types: Types) -> None:
        self.types = types
        self.lists = frozenset(key for key, codec in types.items() if isinstance(codec, ListCodec))
        self._storing = {key: storing(codec) for key, codec in types.items()}

    def view(self, values: Values) -> State:
        return State(values, self.types)

    def read(self, values: Values) -> None:
        for key in self.types.keys() & values.keys():
            try:
                _ = self.view(values)[key]
            except CannotRead as error:
                raise CannotRead(f"{error.kind} in key {key!r}", error.why) from error

    def initial(self, given: object, where: str) -> dict[str, Stored]:
        if not isinstance(given, Mapping):
            raise CannotStore(where, f"{_of(given)}: give a mapping, or the workflow a model (state=)")
        converted = {key: self.types.get(key, PLAIN).convert(value, key) for key, value in given.items()}
        return self.updates(converted, {}, where)

    def replaced(self, given: Mapping[str, object], before: Values, where: str) -> dict[str, Stored]:  # noqa: ARG002  # the protocol's signature
        return self.initial(given, where)

    def adopt(self, stored: Mapping[str, bytes], before: Values, where: str) -> dict[str, Stored]:  # noqa: ARG002  # the protocol's signature
        return to_values(stored, self.lists)

    def updates(self, result: object, before: Values, step: str) -> dict[str, Stored]:
        if result is None:
            return {}
        if type(result) is not dict:  # whether something is a mapping takes as long to find out as to store it
            if isinstance(result, State):
                return result.changes(before)
            if not isinstance(result, Mapping):
                raise StepResultError(step, result)
        stored: dict[str, Stored] = {}
        for key, value in result.items():
            if not isinstance(key, str):
                raise _nameless(key, step)
            stored[key] = self._storing.get(key, store_plain)(value, key)
        return stored

    def changed(self, state: State, before: Values) -> Sequence[str]:
        fresh = self.view(before)
        return [key for key, value in state.read_typed() if self._data(key, value) != self._data(key, fresh[key])]

    def _data(self, key: str, value: object) -> bytes:
        return self.types[key].dump(value, key)


class ModelSchema:
    """States are instances of one pydantic model, stored field by field."""

    _codec: TypedCodec[BaseModel]
    model: type[BaseModel] | None

    def __init__(self, model: type[BaseModel], stored_keys: Collection[str], where: str) -> None:
        missing = sorted(set(stored_keys) - model.model_fields.keys())
        if missing:
            raise DefinitionError(
                where,
                f"its state {model.__name__} has no field {missing[0]!r}, which a step stores its result under: "
                "add the field or change into=",
            )
        self.types: Types = {}
        self.model = self._model = model
        self.lists = frozenset(name for name, field in model.model_fields.items() if _grows(field))
        self._codec = codec_for(model)
        self._fields = frozenset(model.model_fields)  # which pydantic looks up anew whenever it is asked

    def view(self, values: Values) -> BaseModel:
        fields = {name: value.data for name, value in values.items() if name in self._fields}
        return self._codec.load(join_values(fields))

    def read(self, values: Values) -> None:
        self.view(values)

    def initial(self, given: object, where: str) -> dict[str, Stored]:
        if isinstance(given, Mapping):
            given = self._build(dict(given), where)
        if not isinstance(given, self._model):
            raise CannotStore(where, f"{_of(given)}: give a {self._model.__name__}, or a mapping of its fields")
        blobs = Attachments()
        return _bearing(self._store(given, where, blobs), blobs)

    def replaced(self, given: Mapping[str, object], before: Values, where: str) -> dict[str, Stored]:
        stored = self.initial({**self.view(before).__dict__, **given}, where)
        return {
            name: value
            for name, value in stored.items()
            if name in given or name not in before or before[name].data != value.data
        }

    def adopt(self, stored: Mapping[str, bytes], before: Values, where: str) -> dict[str, Stored]:
        adopted = to_values(stored, self.lists)
        try:
            self.view(merged(before, adopted))
        except CannotRead as error:
            raise CannotStore(where, f"it makes the state no valid {self._model.__name__}: {error.why}") from error
        return adopted

    def updates(self, result: object, before: Values, step: str) -> dict[str, Stored]:
        if result is None:
            return {}
        if isinstance(result, Mapping):
            unknown = sorted(set(_names(result, step)) - self._fields)
            if unknown:
                raise UnknownField(step, unknown[0], self._model.__name__, tuple(self._model.model_fields))
            current = dict(self.view(before).__dict__)
            fields = {**current, **self._grown(current, _names(result, step))}
            result = self._build(fields, f"what step {step!r} returned")
        if not isinstance(result, self._model):
            raise StepResultError(step, result)
        blobs = Attachments()
        stored = self._store(result, step, blobs)
        changed = {
            name: value for name, value in stored.items() if name not in before or before[name].data != value.data
        }
        return _bearing({name: added(value, before.get(name), name) for name, value in changed.items()}, blobs)

    def changed(self, state: BaseModel, before: Values) -> Sequence[str]:
        where = f"the state that {self._model.__name__} has become"
        fresh, now = self._store(self.view(before), where), self._store(state, where)
        return [name for name, value in now.items() if fresh[name].data != value.data]

    def _grown(self, current: Mapping[str, Any], updates: Mapping[str, object]) -> Mapping[str, object]:
        """The updates with whole lists where only what is added was given."""
        return {
            key: [*current[key], *_listed(key, value)] if key in self.lists else value for key, value in updates.items()
        }

    def _build(self, fields: dict[str, Any], where: str) -> BaseModel:
        unknown = sorted(fields.keys() - self._fields)
        if unknown:
            known = ", ".join(self._model.model_fields)
            raise CannotStore(where, f"{self._model.__name__} has no field {', '.join(unknown)}; it has {known}")
        return self._codec.convert(fields, where)

    def _store(self, state: BaseModel, where: str, blobs: Attachments | None = None) -> dict[str, Stored]:
        return to_values(split_values(self._codec.dump(state, where, blobs)), self.lists)


def _bearing(values: dict[str, Stored], blobs: Attachments) -> dict[str, Stored]:
    """Values with bytes beside them: the first one has those of all."""
    for name, value in values.items() if blobs else ():
        values[name] = (
            BearingValue(value.data, blobs) if isinstance(value, Value) else Elements(list(value.parts), blobs=blobs)
        )
        break
    return values


def _names(updates: Mapping[Any, object], step: str) -> Mapping[str, object]:
    """The updates, if they name keys.

    Raises:
        CannotStore: A key is no text.
    """
    for key in updates:
        if not isinstance(key, str):
            raise _nameless(key, step)
    return updates


def _nameless(key: object, step: str) -> CannotStore:
    return CannotStore(step, f"the keys of a state are text, and it returned the key {key!r}")


def _of(given: object) -> str:
    return f"it is of type {type(given).__name__}"


def to_values(stored: Mapping[str, bytes], lists: Collection[str]) -> dict[str, Stored]:
    """Values of the JSON of each.

    Args:
        stored: JSON of each key.
        lists: Keys of lists that only grow.

    Raises:
        CannotRead: What is stored for such a key is no list.
    """
    return {key: split_list(data, key) if key in lists else Value(data) for key, data in stored.items()}


def _grows(field: FieldInfo) -> bool:
    return any(mark is Append or isinstance(mark, Append) for mark in field.metadata)


def _listed(key: str, value: object) -> list[object] | tuple[object, ...]:
    if not isinstance(value, list | tuple):
        raise CannotStore(key, f"it only grows (Append): give a list of what is to be added, not {value!r:.80}")
    return value
