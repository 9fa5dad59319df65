import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.hub import InvalidTopic
from stagepost.hub._topics import Topics, check_pattern, check_topic

words = st.sampled_from(["a", "b", "c"])
patterns = st.builds(
    lambda body, tail: ".".join([*body, *tail]),
    st.lists(st.one_of(words, st.just("*")), max_size=3),
    st.one_of(words, st.just(">"), st.just("*")).map(lambda word: [word]),
)
topics = st.lists(words, min_size=1, max_size=4).map(".".join)


def fits(pattern: str, topic: str) -> bool:
    """The grammar in the plainest words."""
    wanted, given_ = pattern.split("."), topic.split(".")
    if wanted[-1] == ">":
        wanted = wanted[:-1] + ["*"] * max(1, len(given_) - len(wanted) + 1)
    return len(wanted) == len(given_) and all(word in ("*", other) for word, other in zip(wanted, given_, strict=True))


@given(subscribed=st.lists(st.tuples(patterns, st.integers(0, 3)), max_size=8), gone=st.integers(0, 8), topic=topics)
def test_a_topic_finds_whoever_subscribed_to_a_pattern_that_fits(
    subscribed: list[tuple[str, int]], gone: int, topic: str
) -> None:
    index: Topics[int] = Topics()
    for pattern, subscriber in subscribed:
        index.add(pattern, subscriber)
        index.match(topic)
    left = set(subscribed) - set(subscribed[:gone])
    for pattern, subscriber in set(subscribed[:gone]):
        index.discard(pattern, subscriber)
    found = index.match(topic)
    assert len(set(found)) == len(found)
    assert set(found) == {subscriber for pattern, subscriber in left if fits(pattern, topic)}


def test_nothing_is_left_of_subscriptions_that_have_ended() -> None:
    index: Topics[str] = Topics()
    for pattern in ("a.b.>", "a.*", "a.b.c"):
        index.add(pattern, "x")
    for pattern in ("a.b.>", "a.*", "a.b.c", "a.b.c", "z.z"):
        index.discard(pattern, "x")
    assert not index._root.words


def test_topics_looked_up_are_remembered_within_bounds() -> None:
    index: Topics[str] = Topics()
    index.add("n.>", "x")
    for number in range(3000):
        assert index.match(f"n.{number}") == ("x",)
    assert len(index._matches) <= 1024


@pytest.mark.parametrize(
    ("pattern", "dropped"),
    [
        ("a.*", {"a.b", "a.c"}),
        ("a.>", {"a.b", "a.c", "a.b.c"}),
        (">", {"a.b", "a.c", "a.b.c", "ab.c", "b"}),
        ("*", {"b"}),
        ("*.c", {"a.c", "ab.c"}),
        ("a.*.c", {"a.b.c"}),
        ("a.b", {"a.b"}),
        ("x.>", set()),
        ("a.*.x", set()),
    ],
)
def test_a_change_of_a_pattern_forgets_the_topics_that_it_covers_and_no_others(pattern: str, dropped: set[str]) -> None:
    index: Topics[str] = Topics()
    topics = {"a.b", "a.c", "a.b.c", "ab.c", "b"}
    for change in (index.add, index.discard):
        for topic in topics:
            index.match(topic)
        change(pattern, "x")
        assert set(index._matches) == topics - dropped
        assert index._kept == sum(map(len, index._matches.values()))


@pytest.mark.parametrize("pattern", ["a", "a.b", "*", ">", "a.*.c", "*.*", "a.>", "orders.42.paid-now", "ä.b"])
def test_patterns_may_have_wildcards(pattern: str) -> None:
    assert check_pattern(pattern) == pattern


@pytest.mark.parametrize(
    "pattern", ["", ".", "a.", ".a", "a..b", "a b", "a.>.b", ">.a", "a*", "*a.b", "x" * 256, 1, None]
)
def test_what_is_no_pattern_is_refused(pattern: object) -> None:
    with pytest.raises(InvalidTopic, match="is not a pattern"):
        check_pattern(pattern)


@pytest.mark.parametrize("topic", ["*", "a.*", ">", "a.>", "", "a..b"])
def test_topics_to_publish_to_have_no_wildcards(topic: str) -> None:
    with pytest.raises(InvalidTopic, match="no wildcards"):
        check_topic(topic)
