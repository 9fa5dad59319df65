"""Signals: each is received once, in the order in which they were sent, whoever comes first."""

from typing import Final

from .._records import Closing, Commit, RunStatus
from .._store import CheckpointStore
from .._waiting import NewWait, WaitKind, WaitStatus
from ..errors import RunNotFound, RunNotOpen
from ._words import Check, claimed, equal, refuses, started


def for_signal(place: str, name: str = "news") -> NewWait:
    """A wait for a signal."""
    return NewWait(place, WaitKind.SIGNAL, name)


async def check_a_signal_wakes_who_waits_for_it(store: CheckpointStore) -> None:
    """The wait that was opened for its name first; the parked run is running again."""
    lease = await started(store, "run")
    for wait in (for_signal("other", "other"), for_signal("first"), for_signal("second")):
        await store.wait(lease, wait)
    await store.park(lease, 0)
    equal(await store.signal("run", "news", b"1"), True)
    equal((await store.info("run")).status, RunStatus.RUNNING)
    ended = {wait.place: wait.value for wait in (await store.load("run")).waits if wait.status is WaitStatus.ANSWERED}
    equal(ended, {"first": b"1"})


async def check_a_signal_that_comes_early_is_kept(store: CheckpointStore) -> None:
    """In the order in which they were sent; each is received once."""
    lease = await started(store, "run")
    for value in (b"1", b"2"):
        equal(await store.signal("run", "news", value), True)
    received = [await store.wait(lease, for_signal(place)) for place in ("a", "b", "c")]
    equal([wait.value for wait in received], [b"1", b"2", None])
    equal([wait.status for wait in received], [WaitStatus.ANSWERED, WaitStatus.ANSWERED, WaitStatus.OPEN])


async def check_a_signal_sent_twice_is_one(store: CheckpointStore) -> None:
    """If its sender says so, also when it was received long ago; other names and other runs are others."""
    for run_id in ("run", "other"):
        lease = await started(store, run_id)
        await store.wait(lease, for_signal("step"))
    equal(await store.signal("run", "news", b"1", dedup="x"), True)
    equal(await store.signal("run", "news", b"1", dedup="x"), False)
    equal(await store.signal("run", "more", b"1", dedup="x"), True)
    equal(await store.signal("other", "news", b"1", dedup="x"), True)
    equal(await store.signal("run", "news", b"1"), True)
    equal(await store.signal("run", "news", b"1"), True)


async def check_only_open_runs_take_signals(store: CheckpointStore) -> None:
    """Neither ended ones nor those whose end is asked for nor unknown ones."""
    with refuses(RunNotFound):
        await store.signal("unknown", "news", b"1")
    lease = await started(store, "run")
    await store.cancel("run")
    with refuses(RunNotOpen):
        await store.signal("run", "news", b"1")
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.CANCELLED)))
    with refuses(RunNotOpen):
        await store.signal("run", "news", b"1")


async def check_signals_can_be_read(store: CheckpointStore) -> None:
    """All that were sent to the run, received or not, in their order and from a number on; reading takes none."""
    for run_id in ("run", "other"):
        await started(store, run_id)
    equal(list((await store.signals("run")).items), [])
    for number, name in enumerate(("news", "more", "news")):
        await store.signal("run", name, f"{number}".encode(), dedup="x" if name == "more" else None)
        await store.signal("run", "more", b"7", dedup="x")
    await store.signal("other", "news", b"3")
    sent = (await store.signals("run")).items
    equal([(signal.name, signal.value) for signal in sent], [("news", b"0"), ("more", b"7"), ("news", b"2")])
    numbers = [signal.number for signal in sent]
    equal(numbers, sorted(set(numbers)))
    equal((await store.signals("run", after=str(numbers[0]), limit=1)).items, (sent[1],))
    equal((await store.signals("run", after=str(numbers[2]))).items, ())
    equal((await store.signals("unknown")).items, ())
    lease = await claimed(store, "run")
    equal((await store.wait(lease, for_signal("step"))).value, b"0")
    equal((await store.signals("run")).items, sent)


CHECKS: Final[tuple[Check, ...]] = (
    check_a_signal_wakes_who_waits_for_it,
    check_a_signal_that_comes_early_is_kept,
    check_a_signal_sent_twice_is_one,
    check_only_open_runs_take_signals,
    check_signals_can_be_read,
)
