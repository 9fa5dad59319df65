"""What the tests of the benchmarks share: they thaw what the collector was told to forget, see tests/conftest.py."""

import gc
import warnings

import pytest


@pytest.fixture(autouse=True, scope="module")
def nothing_left() -> None:
    """Collect what tests before have left: litellm drops clients unclosed when it has had too many."""
    gc.unfreeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
