import queue

import pytest

from stagepost.checkpoint._sqlite._batch import Intake


class Watch:
    """A clock that is put on by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.passes = 0.0  # seconds that each wait takes

    def __call__(self) -> float:
        self.now += self.passes / 2
        return self.now


def filled(count: int, **options: int) -> tuple[Intake[int], Watch]:
    watch = Watch()
    intake: Intake[int] = Intake(clock=watch, **options)
    for number in range(count):
        intake.put(number)
    return intake, watch


def test_all_that_waits_becomes_one_batch() -> None:
    intake, _ = filled(100)
    assert intake.take(None) == list(range(100))


def test_no_batch_is_larger_than_the_limit_and_none_is_left_behind() -> None:
    intake, _ = filled(20, largest=8)
    assert [intake.take(None), intake.take(None), intake.take(None)] == [
        list(range(8)),
        list(range(8, 16)),
        list(range(16, 20)),
    ]


def test_a_batch_is_halved_when_its_requests_took_longer_than_a_commit() -> None:
    intake, watch = filled(100)
    intake.note_commit(1)
    watch.passes = 3
    assert (intake.take(None), intake.take(None)) == (list(range(50)), list(range(50, 100)))


def test_halves_take_turns() -> None:
    intake, watch = filled(100)
    watch.passes = 1
    intake.take(None)
    intake.note_commit(10)
    for number in range(50):
        intake.put(number)
    assert intake.take(None) == [*range(50, 100), *range(50)]


@pytest.mark.parametrize(("count", "commit"), [(100, 5.0), (15, 1.0)], ids=["slow disk", "few"])
def test_a_batch_is_not_halved_where_nothing_is_gained(count: int, commit: float) -> None:
    intake, watch = filled(count)
    intake.note_commit(commit)
    watch.passes = 3
    assert intake.take(None) == list(range(count))


def test_waiting_in_vain_is_said() -> None:
    intake, _ = filled(0)
    with pytest.raises(queue.Empty):
        intake.take(0.001)


def test_a_closed_intake_is_emptied_first() -> None:
    intake, _ = filled(10, largest=8)
    intake.close()
    assert [len(intake.take(None)) for _ in range(4)] == [8, 2, 0, 0]
