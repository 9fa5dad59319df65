"""What AWS's own model of the Converse API says of a request's form: members, types, limits.

The model comes with botocore, which litellm needs for Bedrock.
"""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

from tests.agents.providers._rules import Json

_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "long": int,
    "boolean": bool,
    "float": (int, float),
    "double": (int, float),
    "blob": str,
    "list": list,
    "map": Mapping,
    "structure": Mapping,
}


@dataclass(frozen=True, slots=True)
class Misfit:
    """Where a value does not fit the model.

    Attributes:
        kind: In what way.
        where: Where it stands: "messages.0.content.1".
        what: What should be there.
    """

    kind: Literal["member", "type", "limit"]
    where: str
    what: str


_Look: TypeAlias = Callable[[Mapping[str, Any], Any, str], Iterator[Misfit]]


def misfits(body: Json) -> Iterator[Misfit]:
    """All places where the body of a request does not fit."""
    shapes = _shapes()
    members = shapes["ConverseRequest"]["members"]
    for name, value in body.items():
        if name in members:
            yield from _value(shapes[members[name]["shape"]], value, name)
    if "messages" not in body:
        yield Misfit("member", "messages", "Member must not be null")


@cache
def _shapes() -> Mapping[str, Any]:
    loaders: Any = import_module("botocore.loaders")  # comes with litellm, which may not be there
    shapes: Mapping[str, Any] = loaders.Loader().load_service_model("bedrock-runtime", "service-2")["shapes"]
    return shapes


def _value(shape: Mapping[str, Any], value: Any, where: str) -> Iterator[Misfit]:
    if shape.get("document"):
        return
    wanted = _TYPES[shape["type"]]
    if not isinstance(value, wanted) or (isinstance(value, bool) and shape["type"] != "boolean"):
        yield Misfit("type", where, f"expected {shape['type']}")
        return
    look: _Look = _OF_TYPE.get(shape["type"], _number)
    yield from look(shape, value, where)


def _structure(shape: Mapping[str, Any], value: Mapping[str, Any], where: str) -> Iterator[Misfit]:
    members = shape["members"]
    for name in shape.get("required", ()):
        if value.get(name) is None:
            yield Misfit("member", f"{where}.{name}", "Member must not be null")
    if shape.get("union") and (len(value) != 1 or not value.keys() <= members.keys()):
        yield Misfit("member", where, f"Exactly one must be set of {', '.join(members)}")
    for name, inner in value.items():
        if name in members:
            yield from _value(_shapes()[members[name]["shape"]], inner, f"{where}.{name}")


def _list(shape: Mapping[str, Any], value: list[Any], where: str) -> Iterator[Misfit]:
    yield from _limits(shape, len(value), where, "length")
    for index, inner in enumerate(value):
        yield from _value(_shapes()[shape["member"]["shape"]], inner, f"{where}.{index}")


def _map(shape: Mapping[str, Any], value: Mapping[str, Any], where: str) -> Iterator[Misfit]:
    yield from _limits(shape, len(value), where, "length")


def _string(shape: Mapping[str, Any], value: str, where: str) -> Iterator[Misfit]:
    yield from _limits(shape, len(value), where, "length")
    if "pattern" in shape and re.fullmatch(shape["pattern"], value) is None:
        yield Misfit("limit", where, f"Member must satisfy regular expression pattern: {shape['pattern']}")
    if "enum" in shape and value not in shape["enum"]:
        yield Misfit("limit", where, f"Member must satisfy enum value set: [{', '.join(shape['enum'])}]")


def _blob(shape: Mapping[str, Any], value: str, where: str) -> Iterator[Misfit]:
    try:
        length = len(b64decode(value, validate=True))
    except (Error, ValueError):
        yield Misfit("type", where, "expected blob in base64")
        return
    yield from _limits(shape, length, where, "length")


def _number(shape: Mapping[str, Any], value: float, where: str) -> Iterator[Misfit]:
    yield from _limits(shape, value, where, "value")


def _limits(shape: Mapping[str, Any], found: float, where: str, what: str) -> Iterator[Misfit]:
    if found < shape.get("min", found):
        yield Misfit("limit", where, f"Member must have {what} greater than or equal to {shape['min']}")
    if found > shape.get("max", found):
        yield Misfit("limit", where, f"Member must have {what} less than or equal to {shape['max']}")


_OF_TYPE: Final[Mapping[str, _Look]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "blob": _blob,
}
