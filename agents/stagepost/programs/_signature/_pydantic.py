"""Makes pydantic types of signatures: what they accept is what the signature says, and nothing is coerced."""

from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias, cast

from pydantic import AllowInfNan, ConfigDict, Strict, with_config
from pydantic import Field as Described
from typing_extensions import TypedDict

from .._keyword import Keyword
from ._types import Field, Kind, ListOf, MapOf, Maybe, Type

Extra: TypeAlias = Literal["allow", "forbid"]


_KINDS: Final[dict[Kind, Any]] = {
    Kind.STRING: Annotated[str, Strict()],
    Kind.INT: Annotated[int, Strict()],
    Kind.FLOAT: Annotated[float, Strict(), AllowInfNan(allow_inf_nan=False)],  # they cannot be stored
    Kind.BOOL: Annotated[bool, Strict()],
    Kind.KEYWORD: Keyword,
    Kind.ANY: Any,
    Kind.MAP: dict[str, Any],
}


def pydantic_type(type_: Type, name: str, extra: Extra) -> Any:
    """The type for a ``TypeAdapter``.

    Args:
        type_: Of the signature.
        name: For the typed dictionary that a map with fields becomes.
        extra: Whether maps with fields may have others, too.
    """
    match type_:
        case Kind() as kind:
            return _KINDS[kind]
        case ListOf(item):
            return Annotated[list[pydantic_type(item, name, extra)], Strict()]  # type: ignore[misc]  # made at run time
        case MapOf(()):
            return dict[str, Any]
        case MapOf(fields):
            return record(fields, name, extra)
        case Maybe(of):
            return pydantic_type(of, name, extra) | None


def record(fields: tuple[Field, ...], name: str, extra: Extra) -> Any:
    """A typed dictionary with these fields."""
    typed = cast("Any", TypedDict)(name, {field.name: _field(field, name, extra) for field in fields})
    return with_config(ConfigDict(extra=extra))(typed)


def _field(field: Field, name: str, extra: Extra) -> Any:
    made = pydantic_type(field.type, f"{name}_{field.name}", extra)
    if field.description is not None:
        made = Annotated[made, Described(description=field.description)]
    return NotRequired[made] if isinstance(field.type, Maybe) else made
