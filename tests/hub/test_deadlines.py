from anyio import CancelScope, create_task_group, fail_after, sleep_forever
from anyio.lowlevel import checkpoint
from tests.hub._agents import until

from stagepost.hub._deadlines import Deadlines
from stagepost.hub._time_slice import TimeSlice
from stagepost.hub._wake import Waiter, current_backend


class Entry:
    def __init__(self, at: float, fired: list[tuple[float, float]]) -> None:
        self.at = at
        self.fired = fired

    def expire(self) -> None:
        self.fired.append((self.at, current_backend().clock()))


async def test_deadlines_fire_in_order_and_never_early() -> None:
    fired: list[tuple[float, float]] = []
    backend = current_backend()
    with fail_after(5):
        async with create_task_group() as tasks:
            deadlines = Deadlines(backend, lambda function, name: tasks.start_soon(function, name=name), TimeSlice())
            now = backend.clock()
            for delay in (0.06, 0.02, 0.04, 0.0, 0.02):
                deadlines.add(Entry(now + delay, fired), now + delay)
            await until(lambda: len(fired) == 5)
            tasks.cancel_scope.cancel()
    assert [at for at, _ in fired] == sorted(at for at, _ in fired)
    assert all(when >= at for at, when in fired)


async def test_an_entry_taken_out_does_not_fire_and_leaves_nothing_behind() -> None:
    fired: list[tuple[float, float]] = []
    backend = current_backend()
    with fail_after(5):
        async with create_task_group() as tasks:
            deadlines = Deadlines(backend, lambda function, name: tasks.start_soon(function, name=name), TimeSlice())
            now = backend.clock()
            first, last = Entry(now + 0.01, fired), Entry(now + 0.03, fired)
            bucket = deadlines.add(first, first.at)
            del bucket[first]
            for step in range(50):
                gone = Entry(now + 0.1 + step, fired)
                del deadlines.add(gone, gone.at)[gone]
            deadlines.add(last, last.at)
            await until(lambda: len(fired) == 1)
            await checkpoint()
            tasks.cancel_scope.cancel()
    assert [at for at, _ in fired] == [last.at]
    assert deadlines._buckets == {}


async def test_empty_buckets_do_not_pile_up() -> None:
    spawned: list[object] = []
    deadlines = Deadlines(current_backend(), lambda function, _: spawned.append(function), TimeSlice())
    kept = Entry(0.0, [])
    deadlines.add(kept, 5.0)
    for number in range(20_000):
        entry = Entry(0.0, [])
        del deadlines.add(entry, 10.0 + number)[entry]
    assert len(deadlines._buckets) <= 2_000
    assert len(deadlines._order) == len(deadlines._buckets)
    assert kept in deadlines._buckets[min(deadlines._order)]
    assert len(spawned) == 1


async def test_many_deadlines_at_once_let_others_run_between() -> None:
    fired: list[tuple[float, float]] = []
    backend = current_backend()
    progress: list[int] = []

    async def watch() -> None:
        while True:
            progress.append(len(fired))
            await checkpoint()

    with fail_after(5):
        async with create_task_group() as tasks:
            deadlines = Deadlines(backend, lambda function, name: tasks.start_soon(function, name=name), TimeSlice())
            tasks.start_soon(watch)
            now = backend.clock()
            for _ in range(10_000):  # a slice has 2,048 calls at most, however fast the machine is
                deadlines.add(Entry(now, fired), now)
            await until(lambda: len(fired) == 10_000)
            tasks.cancel_scope.cancel()
    assert len({count for count in progress if 0 < count < 10_000}) > 3


async def test_an_earlier_deadline_moves_the_timer_forward() -> None:
    fired: list[tuple[float, float]] = []
    backend = current_backend()
    with fail_after(5):
        async with create_task_group() as tasks:
            deadlines = Deadlines(backend, lambda function, name: tasks.start_soon(function, name=name), TimeSlice())
            now = backend.clock()
            deadlines.add(Entry(now + 60, fired), now + 60)
            await checkpoint()
            await checkpoint()
            deadlines.add(Entry(now + 0.01, fired), now + 0.01)
            deadlines.add(Entry(now, fired), now)
            await until(lambda: len(fired) == 2)
            tasks.cancel_scope.cancel()


async def test_the_task_ends_by_cancellation() -> None:
    with fail_after(5), CancelScope() as scope:
        async with create_task_group() as tasks:
            deadlines = Deadlines(
                current_backend(), lambda function, name: tasks.start_soon(function, name=name), TimeSlice()
            )
            deadlines.add(Entry(0.0, []), current_backend().clock() + 60)
            await checkpoint()
            scope.cancel()
            await sleep_forever()


async def test_a_lone_client_does_not_wake_the_timer_with_each_deadline() -> None:
    backend = current_backend()
    waits = 0

    def new_waiter() -> Waiter:
        nonlocal waits
        waits += 1
        return backend.new_waiter()

    with fail_after(5):
        async with create_task_group() as tasks:
            counting = backend._replace(new_waiter=new_waiter)
            deadlines = Deadlines(counting, lambda function, name: tasks.start_soon(function, name=name), TimeSlice())
            deadlines.add(Entry(0.0, []), backend.clock() + 1000)
            await checkpoint()
            for number in range(100):
                entry = Entry(0.0, [])
                del deadlines.add(entry, backend.clock() + 60 + number)[entry]
                await checkpoint()
            tasks.cancel_scope.cancel()
    assert waits <= 3


async def test_an_entry_that_another_ones_end_takes_out_does_not_expire() -> None:
    expired: list[str] = []

    class Entry:
        def __init__(self, name: str) -> None:
            self.name = name
            self.other: Entry | None = None

        def expire(self) -> None:
            expired.append(self.name)
            if self.other is not None:
                bucket.pop(self.other, None)

    with fail_after(5):
        async with create_task_group() as tasks:
            backend = current_backend()
            deadlines = Deadlines(backend, lambda function, _: tasks.start_soon(function), TimeSlice())
            first, second, third = Entry("first"), Entry("second"), Entry("third")
            first.other = second
            at = backend.clock()
            for entry in (first, second, third):
                bucket = deadlines.add(entry, at)
            await until(lambda: len(expired) == 2)
            tasks.cancel_scope.cancel()
    assert expired == ["first", "third"]


async def test_many_empty_buckets_are_dropped_in_turns() -> None:
    fired: list[tuple[float, float]] = []
    backend = current_backend()
    with fail_after(5):
        async with create_task_group() as tasks:
            deadlines = Deadlines(backend, lambda function, name: tasks.start_soon(function, name=name), TimeSlice())
            now = backend.clock()
            for step in range(600):
                gone = Entry(now + 10 + step, fired)
                del deadlines.add(gone, gone.at)[gone]
            first = Entry(now, fired)
            deadlines.add(first, first.at)
            await until(lambda: not deadlines._buckets)
            tasks.cancel_scope.cancel()
    assert len(fired) == 1
