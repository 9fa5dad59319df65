"""What all tests share: they are many, and they start many processes, each of which imports much."""

import gc
import os
import sys

import hypothesis  # noqa: F401  # it looks for the referrers of what it imports, and what is frozen shows none
import pytest

# Without bytecode on disk each process compiles all that it imports anew: litellm alone takes 3 s for that.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True, scope="module")
def few_objects() -> None:
    """Let the collector look only at what the tests of a module make: all tests are 700,000 objects, and take 0.3 s."""
    gc.collect()
    gc.freeze()
