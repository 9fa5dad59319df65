"""What one layer takes from another one is public: what others who build on it could take as well."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from stagepost.workflows import StepContext

ROOT = Path(__file__).parents[2]
LAYERS = ("service", "agents", "workflows", "checkpoint", "hub")
PUBLIC = frozenset({"errors", "testing", "models", "patterns"})
OF_TUPLES = frozenset({"_replace", "_asdict", "_fields", "_make"})  # public, whatever they look like


def modules(layer: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / layer / "stagepost").rglob("*.py")):
        yield path, ast.parse(path.read_text())


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_foreign_and_private(name: str, layer: str) -> bool:
    package, _, rest = name.partition(".")
    other, _, inside = rest.partition(".")
    return package == "stagepost" and other != layer and any(part.startswith("_") for part in inside.split("."))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_nothing_private_of_another_one(layer: str) -> None:
    found = [
        f"{path.name}: {name}"
        for path, tree in modules(layer)
        for name in imported(tree)
        if is_foreign_and_private(name, layer)
    ]
    assert found == []


def own_private_names(tree: ast.Module) -> set[str]:
    """Private names that a module gives to functions, variables and attributes of its own."""
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    defined |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    stored = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return defined | {node.attr for node in stored if isinstance(node.value, ast.Name) and node.value.id == "self"}


def reached(tree: ast.Module) -> Iterator[str]:
    """Private attributes of somebody else that a module reads or writes."""
    own = own_private_names(tree) | OF_TUPLES
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        whose = node.value.id if isinstance(node.value, ast.Name) else ""
        if whose not in {"self", "cls"} and node.attr not in own:
            yield f"{ast.unparse(node)}"


def test_agents_reach_no_private_attribute_of_another_layer() -> None:
    ours = [(path, tree) for path, tree in modules("agents") if path.name != "_vendor.py"]  # of litellm, by need
    assert [f"{path.name}: {name}" for path, tree in ours for name in reached(tree)] == []


def test_the_context_of_a_step_shows_no_part_of_the_engine() -> None:
    shown = {name for name in dir(StepContext) if not name.startswith("_")}
    assert not shown & {"execution", "ledger", "journal", "children", "signal_box"}
    assert {"clock", "limits", "mask"} <= shown
