import sys
from collections.abc import Iterator

import pytest
from anyio import fail_after, get_cancelled_exc_class

from stagepost.hub._wake import current_backend


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


async def test_a_wait_ends_when_it_is_told_to() -> None:
    waiter = current_backend().new_waiter()
    assert not waiter.done()
    waiter.set_result(None)
    assert waiter.done()
    with fail_after(5):
        await waiter
