"""Whatever somebody else's code does, wherever the hub calls it: it harms nobody else."""

import gc
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import NoReturn

import pytest
from tests.hub._fuzz_logs import logs_to_nowhere
from tests.hub._fuzz_time import run
from tests.hub._hostile_clock import with_odd_clock
from tests.hub._hostile_places import PLACES, Place
from tests.hub._hostile_stage import Stage, account_of, perform
from tests.hub._hostile_tasks import kept
from tests.hub._hostile_tricks import TRICKS, Trick

USUAL = {
    "Exception",
    "StopIteration",
    "StopAsyncIteration",
    "GeneratorExit",
    "SystemExit",
    "MemoryError",
    "BaseException",
}
ESSENTIAL = {
    *("Exception", "StopIteration", "SystemExit", "asyncio.CancelledError made up", "mute error", "mixed group"),
    *("awaits a cancelled task", "cancels itself", "hangs", "leaves a deadline open", "leaves a scope open"),
    *("caught cancellation", "returns an awkward value", "error without class"),
}


WORST = {"Exception", "asyncio.CancelledError made up", "cancels itself", "hangs"}


def _belongs(place: Place, trick: Trick) -> bool:
    """The first place meets all errors of Python, others the usual ones; what is much the same the essential."""
    if getattr(trick, place.calls) is None:
        return False
    if place.is_varied:
        return trick.id in ESSENTIAL
    return place is PLACES[0] or trick.id in USUAL or not trick.is_builtin


SIMPLE = USUAL - {"SystemExit"}
CLOCK = Place("clock", "now", with_odd_clock)


def _marks(place: Place, trick: Trick, backend: str) -> list[pytest.MarkDecorator]:
    """The worst is met on both loops. Of the rest each place and each trick meets both, but in turns."""
    if trick.id in WORST or (trick.id in ESSENTIAL and place is PLACES[0]) or len(trick.loops) == 1:
        return []
    turn = (PLACES.index(place) + TRICKS.index(trick)) % 2
    return [] if backend == trick.loops[turn] else [pytest.mark.long]


CASES = [
    pytest.param(place, trick, backend, id=f"{place.id}-{trick.id}-{backend}", marks=_marks(place, trick, backend))
    for place in PLACES
    for trick in TRICKS
    for backend in trick.loops
    if _belongs(place, trick)
]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let nobody else look at hostile errors, and close in peace what a trick has left open."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept.clear()


@pytest.mark.parametrize(("place", "trick", "backend"), CASES)
def test_p5_hostile_code_harms_nobody_else(place: Place, trick: Trick, backend: str) -> None:
    told = _error_of(place, trick, backend)
    if told is not None:
        pytest.fail(told)


@pytest.mark.parametrize("trick", [pytest.param(trick, id=trick.id) for trick in TRICKS if trick.id in SIMPLE])
def test_p2_p4_a_hub_whose_clock_fails_ends(trick: Trick, anyio_backend: str) -> None:
    told = _error_of(CLOCK, trick, anyio_backend, with_odd_clock)
    if told is not None:
        pytest.fail(told)


def _error_of(
    place: Place, trick: Trick, backend: str, act: Callable[[Stage], Awaitable[None]] | None = None
) -> str | None:
    """What a case ends by. Not the error itself, at which pytest would have to look, nor what is left of its hub."""
    stage = Stage(trick)
    stage.hub = place.hub_for(stage)
    try:
        with logs_to_nowhere():
            run(backend, *((perform, stage, place.play) if act is None else (act, stage)))
    except BaseException as error:  # noqa: BLE001 - that is the question
        told = account_of(error)
    else:
        return None
    del stage
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept.clear()
        gc.collect()
    return told


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt


async def _interrupt_later() -> NoReturn:
    raise KeyboardInterrupt


INTERRUPT = Trick("KeyboardInterrupt", _interrupt, _interrupt_later, "raises")


@pytest.mark.parametrize("place", [pytest.param(place, id=place.id) for place in PLACES if place.is_reached])
def test_a_keyboard_interrupt_passes(place: Place, anyio_backend: str) -> None:
    """It is the user's, who wants the program to end; a signal may raise it inside anybody's code."""
    told = _error_of(place, INTERRUPT, anyio_backend)
    assert told is not None
    assert "KeyboardInterrupt" in told
