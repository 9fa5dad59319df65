"""Whatever agents, hooks, clients, listeners and the owner of a hub do, in any order, the promises hold."""

import os
import time
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import random_module
from tests.hub._fuzz_found import FOUND
from tests.hub._fuzz_play import check
from tests.hub._fuzz_program import Program, programs

SETTINGS = settings(
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
    report_multiple_bugs=False,
    max_examples=40,
)
DURATION = float(os.environ.get("FUZZ_SECONDS", "300"))
FIRST_SEED = int(os.environ.get("FUZZ_SEED", "0"))
SHRINKING = float(os.environ.get("FUZZ_SHRINKING", "30"))


class Hunt:
    """Checks programs. Some time after the first failure it stops looking for shorter ones that fail as well."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.failed: set[str] = set()
        self.ends = float("inf")

    def check(self, program: Program, shuffling: object) -> None:
        """Check a program; `shuffling` has chosen the order in which trio runs what is ready, by being drawn."""
        case = f"{program!r} {shuffling!r}"
        if time.monotonic() > self.ends and case not in self.failed:
            return
        try:
            check(program, self.backend)
        except AssertionError:
            self.ends = min(self.ends, time.monotonic() + SHRINKING)
            self.failed.add(case)
            raise


@pytest.mark.parametrize("program", [pytest.param(program, id=name) for name, program in FOUND.items()])
def test_p1_p2_p3_p4_p5_hold_when(program: Program, anyio_backend: str) -> None:
    """Trio runs what is ready in any order: several of them are tried, the same ones each time."""
    number = 5 if anyio_backend == "trio" else 1
    orders = settings(SETTINGS, derandomize=True, max_examples=number, phases=[Phase.generate])
    orders(given(shuffling=random_module())(lambda shuffling: check(program, anyio_backend)))()  # noqa: ARG005 - drawn


def test_p1_p2_p3_p4_p5_hold_for_any_program(anyio_backend: str) -> None:
    hunt = Hunt(anyio_backend)
    settings(SETTINGS, derandomize=True)(given(program=programs(), shuffling=random_module())(hunt.check))()


@pytest.mark.long
def test_p1_p2_p3_p4_p5_hold_for_very_many_programs(anyio_backend: str) -> None:
    """Runs for FUZZ_SECONDS on each loop, from FUZZ_SEED on; a failure names its seed."""
    until = time.monotonic() + DURATION
    for number in count(FIRST_SEED):
        if time.monotonic() > until:
            return
        hunt = Hunt(anyio_backend)
        try:
            seed(number)(settings(SETTINGS)(given(program=programs(size=40), shuffling=random_module())(hunt.check)))()
        except BaseException as error:
            error.add_note(f"again: FUZZ_SEED={number} pytest -m long tests/hub/test_fuzz.py -k {anyio_backend}")
            raise
