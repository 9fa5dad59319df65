"""What a compiled agent takes: as a pydantic model, and as a sample."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NotRequired, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model, model_validator

from stagepost.programs import Field, Kind, ListOf, MapOf, Maybe, Signature, Type, Validated, Validation

REQUEST: Final = "request"
TEXT: Final = (Field(REQUEST, Kind.STRING),)  # the inputs of an agent without a model of its requests

_SAMPLES: Final[Mapping[Kind, object]] = {
    Kind.STRING: "",
    Kind.INT: 0,
    Kind.FLOAT: 0.0,
    Kind.BOOL: False,
    Kind.KEYWORD: "name",
    Kind.ANY: None,
    Kind.MAP: {},
}


def sample_map(fields: Sequence[Field]) -> dict[str, Any]:
    """Small values of fields, by name; what may be left out is."""
    return {field.name: _sample(field.type) for field in fields if not isinstance(field.type, Maybe)}


def _sample(type_: Type) -> object:
    """A small value of a type: empty texts and lists, 0, nil where that fits."""
    match type_:
        case Kind() as kind:
            return _SAMPLES[kind]
        case ListOf():
            return []
        case Maybe():
            return None
        case MapOf(fields):
            return sample_map(fields)


@lru_cache(maxsize=256)
def as_texts(signature: Signature) -> Signature:
    """The signature with texts for keywords, which JSON does not have."""
    return Signature(tuple(_with_texts(each) for each in signature.params), _texts(signature.returns))


def _with_texts(field: Field) -> Field:
    return Field(field.name, _texts(field.type), field.description)


def _texts(type_: Type) -> Any:
    match type_:
        case Kind.KEYWORD:
            return Kind.STRING
        case ListOf(item):
            return ListOf(_texts(item))
        case Maybe(of):
            return Maybe(_texts(of))
        case MapOf(fields):
            return MapOf(tuple(_with_texts(each) for each in fields))
        case _:
            return type_


def input_model(signature: Signature) -> type[BaseModel] | None:
    """A model of the inputs; None if they are the text of a request. Fields that models are not shown are extra."""
    if signature.params == TEXT:
        return None
    hints = get_type_hints(as_texts(signature).input_type, include_extras=True)
    fields = {name: _field(hint) for name, hint in hints.items() if not name.startswith("_")}
    extra: Literal["allow", "forbid"] = "allow" if len(fields) < len(hints) else "forbid"
    made: Any = cast("Any", create_model)(
        "Inputs",
        __config__=ConfigDict(extra=extra),
        __validators__={"coerced": model_validator(mode="before")(_coerced(signature))},
        **fields,
    )
    return cast("type[BaseModel]", made)


def checked(signature: Signature, given: Mapping[str, Any]) -> Validated:
    """Inputs by name, each of which has to be there and to be known."""
    return as_texts(signature).check_input(given, Validation.STRICT)


def _field(hint: Any) -> tuple[Any, object]:
    if get_origin(hint) is NotRequired:
        return get_args(hint)[0], None
    return hint, ...


def _coerced(signature: Signature) -> Any:
    def check(_: type[BaseModel], given: Any) -> Any:
        """Coerce what the signature coerces; what does not fit is refused by the fields."""
        return checked(signature, given).value if isinstance(given, Mapping) else given

    return classmethod(check)
