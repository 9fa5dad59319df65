"""YAML as a model of pydantic, with the line of each problem."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from ._errors import InvalidFile

M = TypeVar("M", bound=BaseModel)
Place = tuple[str | int, ...]

_LARGEST: Final = 1024 * 1024
_KNOWN: Final = (1, 0)  # the newest version of the form of these files
_WORDS: Final = {
    "extra_forbidden": "this key is not known; known here: {known}",
    "missing": "this key is missing",
}


def read_yaml(path: str, data: bytes, schema: type[M]) -> M:
    """What a file says, over the defaults of its schema.

    Args:
        path: The file, for errors.
        data: Its content.
        schema: What it has to be.

    Raises:
        InvalidFile: It is no YAML, is empty, does not fit, or is of a newer version than this program knows.
    """
    if len(data) > _LARGEST:
        raise InvalidFile(path, ["1: the file has more than 1 MiB"])
    try:
        node = yaml.compose(data.decode("utf-8-sig"), Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise InvalidFile(path, [f"1: the file is not UTF-8 ({error.reason} at byte {error.start})"]) from error
    except yaml.YAMLError as error:
        raise InvalidFile(path, [_malformed(error)]) from error
    except RecursionError as error:
        raise InvalidFile(path, ["1: lists or mappings are nested too deeply"]) from error
    if not isinstance(node, yaml.MappingNode):
        raise InvalidFile(path, ["1: the file has no keys; an empty file is refused, because it may be half written"])
    lines: dict[Place, int] = {}
    problems = [*_walk(node, (), lines)]
    if problems:
        raise InvalidFile(path, problems)
    try:
        value = yaml.safe_load(data)
    except yaml.YAMLError as error:
        raise InvalidFile(path, [_malformed(error)]) from error
    return _validated(path, value, schema, lines)


def _validated(path: str, value: Any, schema: type[M], lines: Mapping[Place, int]) -> M:
    newer = _version(value.get("version"))
    if newer:
        raise InvalidFile(path, [f"{lines[('version',)]}: {newer}"])
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        found = [_problem(each, schema, lines) for each in error.errors(include_url=False)]
        raise InvalidFile(path, found) from error


def _walk(node: yaml.Node, place: Place, lines: dict[Place, int]) -> Iterator[str]:
    """Note on which line each key stands; yields keys that are there twice, and references."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, str(key.value))
            line = key.start_mark.line + 1
            if inner in lines:
                yield f"{line}: the key {'.'.join(map(str, inner))} is there already, on line {lines[inner]}"
            lines.setdefault(inner, line)
            yield from _walk_inside(value, key.start_mark, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines[(*place, index)] = value.start_mark.line + 1
            yield from _walk_inside(value, node.start_mark, (*place, index), lines)


def _walk_inside(value: yaml.Node, outer: yaml.Mark, place: Place, lines: dict[Place, int]) -> Iterator[str]:
    """Go on with a value, unless it is the reference to one that stands before, or around, what it is in."""
    if value.start_mark.index <= outer.index:
        yield f"{outer.line + 1}: references (*name) are not read: write the value out"
    else:
        yield from _walk(value, place, lines)


def _malformed(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    line = 1 if mark is None else mark.line + 1
    return f"{line}: this is no YAML: {getattr(error, 'problem', None) or error}"


def _version(version: object) -> str | None:
    """What is wrong with a version, if anything is."""
    if version is None:
        return None
    if not isinstance(version, str):
        return f'the version is a text: write "{version}", with quotes'
    major, _, minor = version.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        return f"the version {version!r} has not the form 1.0"
    if (int(major), int(minor)) > _KNOWN:
        known = ".".join(map(str, _KNOWN))
        return f"version {version} is newer than {known}, the newest that this program knows: update the program"
    return None


def _problem(error: Mapping[str, Any], schema: type[BaseModel], lines: Mapping[Place, int]) -> str:
    place = tuple(error["loc"])
    line = next((lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines), 1)
    name = ".".join(map(str, place))
    template = _WORDS.get(str(error["type"]))
    said = str(error["msg"]) if template is None else template.format(known=", ".join(_keys(schema, place[:-1])))
    return f"{line}: {name}: {said[:1].lower()}{said[1:]}"


def _keys(schema: type[BaseModel], place: Place) -> Sequence[str]:
    """The keys that are known at a place."""
    fields = schema.model_fields
    for name in place:
        inner = fields[str(name)].annotation if str(name) in fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return ["see the documentation"]
        fields = inner.model_fields
    return [*fields]
