"""Laws are tried with few examples each time, and with many where long tests are run: ``pytest -m long``."""

import os
from collections.abc import Callable
from typing import Final, TypeVar

import pytest
from hypothesis import HealthCheck, settings

T = TypeVar("T", bound=Callable[..., object])

_FIRST: Final = 8  # places: all that a short run has
_THOROUGH: Final = "STAGEPOST_TESTS_THOROUGH"


def be_thorough(config: pytest.Config) -> None:
    """Have laws tried with many examples, if long tests are to be run; before any is imported."""
    if config.option.markexpr == "long":
        os.environ[_THOROUGH] = "1"


def mark_laws(items: list[pytest.Item]) -> None:
    """Run laws with the long tests, too."""
    if os.environ.get(_THOROUGH):
        for item in items:
            if item.get_closest_marker("law") is not None:
                item.add_marker(pytest.mark.long)


def law(quick: int, thorough: int) -> Callable[[T], T]:
    """A test for hypothesis.

    Args:
        quick: How many examples it has each time.
        thorough: How many where long tests are run.
    """
    number = thorough if os.environ.get(_THOROUGH) else quick
    of_it = settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck))

    def marked(test: T) -> T:
        found: T = pytest.mark.law(of_it(test))
        return found

    return marked


def next_place(place: int) -> int:
    """The next one of the places at which something is tried: the first ones all, then each third, unless thorough."""
    return place + (1 if place < _FIRST or os.environ.get(_THOROUGH) else 3)
