"""What the tests of the benchmarks share: they collect garbage again and again, and thaw what came before them."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def frozen(few_objects: None) -> Iterator[None]:
    """Keep what other tests have left frozen, or each collection takes most of a second and meets their garbage."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gc, "unfreeze", lambda: None)
        yield
