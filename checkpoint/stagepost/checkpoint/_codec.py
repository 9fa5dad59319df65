"""The stored form of values: JSON bytes that come back the same, or an error.

Two codecs share one interface. `PLAIN` takes JSON values and gives immutable ones back; `codec_for(type)` takes values
of a type and validates them back into it. Nothing that is read ever chooses a class: the type comes from the code.
"""

import hashlib
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property, lru_cache
from types import NoneType, UnionType
from typing import Annotated, ClassVar, Generic, Literal, Protocol, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, Discriminator, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import ErrorDetails, PydanticSerializationError, SchemaSerializer, to_json

from ._pitfalls import only_reordered, outline, pitfall
from ._plain import PlainCodec
from ._unwritable import check_depth
from .errors import CannotRead, CannotStore

T = TypeVar("T")


class Codec(Protocol[T]):
    """Turns values into JSON bytes and back."""

    def dump(self, value: T, where: str, context: object = None) -> bytes:
        """The stored form of `value`; `where` names it in errors.

        Args:
            value: The value.
            where: Names it in errors.
            context: Given to the serializers of types, such as `Attachments`, which takes the bytes beside the JSON.

        Raises:
            CannotStore: It would not come back the same.
        """
        ...

    def convert(self, value: object, where: str) -> T:
        """A value of the type from one that can be turned into it, such as a dict for a model.

        Raises:
            CannotStore: It cannot be turned into the type.
        """
        ...

    def load(self, data: bytes) -> T:
        """A value equal to the one that was dumped, new at each call unless it is immutable.

        Raises:
            CannotRead: It was written for another type.
        """
        ...


class TypedCodec(Generic[T]):
    """Values of one type, checked by bytes: what is read back must dump to the very same JSON.

    Args:
        kind: The type, in any form that pydantic understands.
        verify: Check each value and its round trip at every dump. Without it values have to be of the type, and what
            reading their JSON would give.
        immutable: Whether values are immutable all the way down, so that all who read one may share it.

    Attributes:
        kind: The type.
        is_shared: Whether values are immutable.
        is_exact: Whether a value is, beside that, what reading its JSON would give, so that it need not be read.
    """

    def __init__(self, kind: type[T], *, verify: bool = True, immutable: bool = False) -> None:
        self.kind = kind
        self.is_shared = immutable
        self.is_exact = immutable and not verify
        self._adapter = _adapter(kind)
        self._members: Mapping[type, SchemaSerializer] = {
            member: _adapter(member).serializer for member in _members(kind)
        }
        self._verify = verify
        self._warnings: Literal["error", False] = "error" if verify else False

    def dump(self, value: T, where: str, context: object = None) -> bytes:
        serializer = self._members.get(type(value), self._adapter.serializer)
        try:
            data = serializer.to_json(value, by_alias=False, round_trip=True, warnings=self._warnings, context=context)
        except (PydanticSerializationError, PydanticUserError, ValueError, TypeError) as error:
            raise CannotStore(where, f"it is no valid {self._name}: {_one_line(error)}") from error
        if self._verify:
            self._check(value, data, where)
        return data

    def load(self, data: bytes) -> T:
        try:
            return cast("T", self._adapter.validator.validate_json(data, by_alias=False, by_name=True))
        except ValidationError as error:
            raise CannotRead(self._name, _one_line(error)) from error

    def convert(self, value: object, where: str) -> T:
        try:
            return cast("T", self._adapter.validator.validate_python(value, by_alias=False, by_name=True))
        except ValidationError as error:
            raise CannotStore(where, f"it is no valid {self._name}: {_one_line(error)}") from error

    def _dump(self, value: T, *, as_any: bool = False) -> bytes:
        return self._adapter.serializer.to_json(
            value, by_alias=False, round_trip=True, serialize_as_any=as_any, warnings=False if as_any else "error"
        )

    @cached_property
    def schema(self) -> Mapping[str, object] | None:
        """JSON schema of what is stored of its values; None if it has none."""
        try:
            return self._adapter.json_schema(by_alias=False, schema_generator=_Quiet)
        except Exception:  # noqa: BLE001  # what makes the schema of a user's type may raise anything, and nothing needs it
            return None

    @cached_property
    def summary(self) -> tuple[str, str]:
        """The type as its users call it, and a digest of its JSON schema, empty if it has none."""
        schema = self.schema
        return self._name, "" if schema is None else hashlib.sha256(to_json(schema)).hexdigest()[:12]

    @property
    def _name(self) -> str:
        return _type_name(self.kind)

    def _check(self, value: T, data: bytes, where: str) -> None:
        check_depth(data, where)
        why = pitfall(value, data)
        if why is not None:
            raise CannotStore(where, why)
        try:
            loaded = self.load(data)
            again = self._dump(loaded)
        except (CannotRead, PydanticSerializationError) as error:
            raise CannotStore(where, f"{self._name} cannot be read back: {_one_line(error)}") from error
        if again != data and not only_reordered(value, data, again):
            raise CannotStore(
                where,
                f"{self._name} does not come back the same from JSON: {data[:80]!r} became {again[:80]!r}",
            )
        if self._may_hide(value, data) and outline(value) != outline(loaded):
            raise CannotStore(
                where, f"fields that {self._name} does not declare would be lost: declare the type that you return"
            )

    def _may_hide(self, value: T, data: bytes) -> bool:
        """Whether a part of a value may be of a class that has more to say than the type that declares it."""
        try:
            return data != self._dump(value, as_any=True)
        except PydanticSerializationError:  # a class whose values can only be written as the type says
            return True


class _Quiet(GenerateJsonSchema):
    """Warns of nothing that a schema cannot say."""

    ignored_warning_kinds: ClassVar[set[JsonSchemaWarningKind]] = {  # type: ignore[misc]  # pydantic does not call it so
        "skipped-choice",
        "non-serializable-default",
        "skipped-discriminator",
    }


def codec_for(kind: type[T]) -> TypedCodec[T]:
    """The codec of a type, made once.

    Raises:
        CannotStore: Pydantic does not know how to handle the type.
    """
    return cast("TypedCodec[T]", _known(cast("Hashable", kind), "" if type(kind) is type else str(kind)))


@lru_cache(maxsize=1024)
def _known(kind: Hashable, _name: str) -> TypedCodec[object]:  # A | B and B | A are equal, but not the same
    return TypedCodec(cast("type[object]", kind))


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    try:
        return TypeAdapter(kind)
    except PydanticUserError as error:
        raise CannotStore(f"type {kind!r}", f"pydantic has no schema for it: {_one_line(error)}") from error


def _members(kind: object) -> Iterator[type[BaseModel]]:
    """The models of a union that a field of theirs tells apart: pydantic looks for the right one, and we know it."""
    union, *marks = get_args(kind) if get_origin(kind) is Annotated else (None,)
    if marks and all(isinstance(mark, Discriminator) for mark in marks):
        yield from (member for member in get_args(union) if isinstance(member, type) and issubclass(member, BaseModel))


def _type_name(kind: object) -> str:
    """A type as its users call it: ``Order``, ``list[int]``, ``Allow or Deny``."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _type_name(get_args(kind)[0])
    if origin in (Union, UnionType):
        return " or ".join(map(_type_name, get_args(kind)))
    if isinstance(kind, type) and origin is None:
        return "None" if kind is NoneType else kind.__name__
    return str(kind).removeprefix("typing.")


def _problem(found: ErrorDetails) -> str:
    """What is wrong, and where, without pydantic's addresses."""
    place = f"{'.'.join(map(str, found['loc']))}: " if found["loc"] else ""
    given = "" if found["type"] == "missing" else f", but it is {found['input']!r:.60}"
    return f"{place}{found['msg']}{given}"


def _one_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(map(_problem, error.errors(include_url=False, include_context=False)))[:300]
    return " ".join(str(error).split())[:300]


PLAIN: Codec[object] = PlainCodec()
