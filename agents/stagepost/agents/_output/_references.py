"""What the references in a JSON schema refer to."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

ROOT: Final = "#"

_NAMED: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


def targets_of(root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What each reference within a schema refers to; those that refer to nothing in it are left out."""
    found: dict[str, Any] = {}
    missing: set[str] = set()
    for reference in references(root, with_definitions=True):
        if reference not in found and reference not in missing:
            target = _resolved(root, reference)
            if isinstance(target, Mapping | bool):
                found[reference] = target if isinstance(target, Mapping) else {}
            else:
                missing.add(reference)
    return found


def recursive(targets: Mapping[str, Any]) -> frozenset[str]:
    """The references to what refers to itself, directly or through others."""
    direct = {name: {each for each in references(node) if each in targets} for name, node in targets.items()}
    return frozenset(name for name in targets if name in _reached(direct, name))


def references(schema: Any, *, with_definitions: bool = False) -> Iterator[str]:
    """The references that stand in a schema, and in its definitions if that is wanted."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, Mapping):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            waiting.extend(_inner(node, with_definitions=with_definitions))


def name_of(reference: str) -> str:
    """What a reference calls its target: its last part."""
    return "schema" if reference == ROOT else reference.rpartition("/")[2]


def _inner(node: Mapping[str, Any], *, with_definitions: bool) -> Iterator[Any]:
    for key, inner in node.items():
        if key in _NAMED:
            if isinstance(inner, Mapping) and (with_definitions or key not in _NAMED[-2:]):
                yield from inner.values()
        elif key not in ("enum", "const", "default", "examples"):
            yield inner


def _reached(direct: Mapping[str, set[str]], name: str) -> set[str]:
    found: set[str] = set()
    waiting = list(direct[name])
    while waiting:
        known = waiting.pop()
        if known not in found:
            found.add(known)
            waiting.extend(direct[known])
    return found


def _resolved(root: Mapping[str, Any], reference: str) -> Any:
    """What a JSON pointer leads to; None if it leads nowhere, or out of the schema."""
    start, *parts = reference.split("/")
    node: Any = root if start == ROOT else None
    for part in parts:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node
