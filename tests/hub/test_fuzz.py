"""Whatever agents, hooks, clients, listeners and the owner of a hub do, in any order, the promises hold."""

import gc
import io
import logging
import os
import time
import traceback
from collections.abc import Iterator
from itertools import count
from types import TracebackType
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, seed, settings
from tests.hub._fuzz_play import check
from tests.hub._fuzz_program import Program, programs

ExcInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

SETTINGS = settings(
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
    report_multiple_bugs=False,
    max_examples=300,
)
DURATION = float(os.environ.get("FUZZ_SECONDS", "600"))
FIRST_SEED = int(os.environ.get("FUZZ_SEED", "0"))
SHRINKING = float(os.environ.get("FUZZ_SHRINKING", "30"))


class Hunt:
    """Checks programs. Some time after the first failure it stops looking for shorter ones that fail as well."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.failed: set[str] = set()
        self.ends = float("inf")

    def check(self, program: Program) -> None:
        if time.monotonic() > self.ends and repr(program) not in self.failed:
            return
        try:
            check(program, self.backend)
        except AssertionError:
            self.ends = min(self.ends, time.monotonic() + SHRINKING)
            self.failed.add(repr(program))
            raise


class BriefFormatter(logging.Formatter):
    """Asks errors for their text, but leaves out tracebacks, which cost more than all the rest."""

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - logging calls it so
        return "".join(traceback.format_exception_only(ei[1]))


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write logs to nowhere, since pytest would keep all records, and let the collector see only what is new."""
    logger, handler = logging.getLogger("stagepost"), logging.StreamHandler(io.StringIO())
    handler.setFormatter(BriefFormatter())
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logger.addHandler(handler)
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    logger.removeHandler(handler)


def test_p1_p2_p3_p4_p5_hold_for_any_program(anyio_backend: str) -> None:
    hunt = Hunt(anyio_backend)
    settings(SETTINGS)(given(program=programs())(hunt.check))()


@pytest.mark.long
def test_p1_p2_p3_p4_p5_hold_for_very_many_programs(anyio_backend: str) -> None:
    """Runs for FUZZ_SECONDS on each loop, from FUZZ_SEED on; a failure names its seed."""
    until = time.monotonic() + DURATION
    for number in count(FIRST_SEED):
        if time.monotonic() > until:
            return
        hunt = Hunt(anyio_backend)
        try:
            seed(number)(settings(SETTINGS)(given(program=programs(size=40))(hunt.check)))()
        except BaseException as error:
            error.add_note(f"again: FUZZ_SEED={number} pytest -m long tests/hub/test_fuzz.py -k {anyio_backend}")
            raise
