"""What a module of tests needs beside the core, found without importing it: litellm alone takes seconds for that."""

from importlib.util import find_spec

import pytest


def need(*packages: str) -> None:
    """Skip the module, or the test, if one of these packages is not installed."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed", allow_module_level=True)
