"""What a listener has not heard yet: in order, bounded, and never without the last ring."""

from hypothesis import given
from hypothesis import strategies as st

from stagepost.workflows import Heard, Told
from stagepost.workflows._listening._buffer import Buffer

RING = "ring"


def told(what: object) -> Told:
    return Told("r", "step", what)


def all_of(buffer: Buffer) -> list[Heard]:
    found = []
    while not buffer.is_empty:
        found.append(buffer.take())
    return found


def test_what_was_told_comes_with_the_ring_after_it() -> None:
    buffer = Buffer(10)
    for what in (1, 2, RING, 3):
        buffer.ring() if what == RING else buffer.put(told(what))
    assert all_of(buffer) == [Heard((told(1), told(2)), 0, rung=True), Heard((told(3),), 0, rung=False)]


def test_rings_with_nothing_told_in_between_are_one() -> None:
    buffer = Buffer(10)
    for _ in range(5):
        buffer.ring()
    buffer.put(told(1))
    buffer.ring()
    buffer.ring()
    assert all_of(buffer) == [Heard((), 0, rung=True), Heard((told(1),), 0, rung=True)]


def test_the_oldest_are_dropped_and_counted_where_they_stood() -> None:
    buffer = Buffer(2)
    for what in (1, 2, RING, 3, RING, 4):
        buffer.ring() if what == RING else buffer.put(told(what))
    assert all_of(buffer) == [
        Heard((), 2, rung=True),
        Heard((told(3),), 0, rung=True),
        Heard((told(4),), 0, rung=False),
    ]


def test_what_was_dropped_on_both_sides_of_a_ring_is_one() -> None:
    buffer = Buffer(1)
    for what in (1, RING, 2, RING, 3):
        buffer.ring() if what == RING else buffer.put(told(what))
    assert all_of(buffer) == [Heard((), 2, rung=True), Heard((told(3),), 0, rung=False)]


def test_of_too_many_commits_the_oldest_are_dropped() -> None:
    buffer = Buffer(2)
    for number in range(5):
        buffer.put(told(number))
        buffer.note(told(f"commit {number}"))
        buffer.ring()
    assert [what.what for heard in all_of(buffer) for what in heard.told] == [3, "commit 3", 4, "commit 4"]


@given(st.integers(1, 5), st.lists(st.sampled_from(["told", "commit", "ring", "take"]), max_size=60))
def test_whatever_comes_nothing_is_lost_uncounted(size: int, steps: list[str]) -> None:
    buffer, put, heard = Buffer(size), list[int](), list[Heard]()
    commits = list[int]()
    rung_last = False
    for number, what in enumerate(steps):
        match what:
            case "told":
                buffer.put(told(number))
                put.append(number)
            case "commit":
                buffer.note(told(-number - 1))
                commits.append(-number - 1)
                buffer.ring()
                rung_last = True
            case "ring":
                buffer.ring()
                rung_last = True
            case _:
                if not buffer.is_empty:
                    heard.append(buffer.take())
    left = all_of(buffer)
    assert sum(len(each.told) for each in left) <= 2 * size
    assert len(left) <= 2 * size + 2
    heard += left
    found = [each.what for every in heard for each in every.told if isinstance(each.what, int)]
    plain, noted = [each for each in found if each >= 0], [each for each in found if each < 0]
    assert len(plain) + sum(each.missed for each in heard) == len(put)
    assert plain == sorted(plain)
    assert set(plain) <= set(put)
    assert noted == sorted(noted, reverse=True)
    assert not commits or noted[-1] == commits[-1]
    if rung_last:
        last_ring = max(index for index, each in enumerate(heard) if each.rung)
        assert all(not each.rung for each in heard[last_ring + 1 :])
