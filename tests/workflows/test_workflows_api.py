"""What the layer exports, and its errors as a family."""

import inspect
import sys
from collections.abc import Iterator
from types import FunctionType

import pytest
from anyio import get_cancelled_exc_class

import stagepost.workflows
from stagepost.workflows import WorkflowError, errors


def test_all_is_sorted_complete_and_documented() -> None:
    public = stagepost.workflows.__all__
    assert sorted(public, key=lambda name: (not name.isupper(), name)) == list(public)  # constants first
    for name in public:
        value = getattr(stagepost.workflows, name)
        if isinstance(value, type | FunctionType):
            assert value.__doc__, name


def test_every_error_is_exported_and_stands_in_the_tree() -> None:
    ours = inspect.getmembers(errors, inspect.isclass)
    classes = [cls for _, cls in ours if cls.__module__.startswith("stagepost.workflows.")]
    tree = errors.__doc__ or ""
    raised = [cls for cls in classes if issubclass(cls, Exception)]
    assert all(issubclass(cls, WorkflowError) for cls in raised)
    assert [cls.__name__ for cls in raised if cls.__name__ not in tree] == []
    assert {cls.__name__ for cls in classes} == set(errors.__all__) <= set(stagepost.workflows.__all__)


@pytest.fixture(scope="module")
def seen() -> Iterator[set[str]]:
    backends: set[str] = set()
    yield backends
    assert backends == {"asyncio", "trio"}


async def test_both_backends_run_these_tests(seen: set[str], anyio_backend: str) -> None:
    module = get_cancelled_exc_class().__module__.partition(".")[0]
    assert module == anyio_backend
    assert module in sys.modules
    seen.add(module)
