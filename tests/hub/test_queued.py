import threading

from stagepost.hub import Event, LogObserver, MultiObserver, NullObserver, Queued


class Slow:
    def __init__(self) -> None:
        self.told: list[Event] = []
        self.threads: set[str] = set()
        self.go = threading.Event()
        self.began = threading.Event()

    def on_event(self, event: Event, /) -> None:
        self.began.set()
        assert self.go.wait(5)
        self.threads.add(threading.current_thread().name)
        self.told.append(event)


def test_events_are_told_in_order_in_one_other_thread() -> None:
    slow, events = Slow(), [Event() for _ in range(100)]
    slow.go.set()
    with Queued(slow) as queued:
        for event in events:
            queued.on_event(event)
    assert slow.told == events
    assert slow.threads == {"stagepost observer"}
    assert (queued.dropped, queued.failures) == (0, 0)


def test_what_does_not_fit_is_dropped_and_counted() -> None:
    slow = Slow()
    queued = Queued(slow, limit=2)
    queued.on_event(Event())
    assert slow.began.wait(5)
    for _ in range(5):
        queued.on_event(Event())
    assert queued.dropped == 3
    assert not queued.flush(0.01)
    assert not queued.close(0.01)
    queued.on_event(Event())
    assert queued.dropped == 4
    slow.go.set()
    assert queued.flush(5)
    assert len(slow.told) == 3


def test_a_failing_observer_is_counted_and_goes_on() -> None:
    class Failing:
        def on_event(self, _: Event, /) -> None:
            raise ZeroDivisionError

    with Queued(Failing()) as queued:
        queued.on_event(Event())
        queued.on_event(Event())
    assert queued.failures == 2


def test_closing_what_was_never_used_is_fine() -> None:
    assert Queued(Slow()).close()


def test_it_asks_the_slow_one_what_it_wants() -> None:
    assert Queued(Slow()).wants("debug")
    assert not Queued(NullObserver()).wants("error")
    assert MultiObserver(NullObserver(), Slow()).wants("debug")
    assert not MultiObserver(LogObserver()).wants("debug")
