"""What an owner is told, in which order, and when that ends."""

from stagepost.checkpoint import Lost, News
from stagepost.checkpoint._feed import Feed


async def listen(_: Feed) -> None:
    """Nobody else puts anything into these feeds."""


async def test_the_latest_change_of_each_run_is_told() -> None:
    feed = Feed(listen)
    feed.put([News("first", 1), News("second", 1)])
    feed.put([News("first", 2)])
    feed.close()
    assert [change async for change in feed] == [News("first", 2), News("second", 1)]


async def test_a_closed_feed_tells_what_it_had_and_nothing_that_comes_later() -> None:
    feed = Feed(listen)
    feed.put([Lost("run")])
    feed.close()
    feed.put([News("run", 1)])
    assert [change async for change in feed] == [Lost("run")]


async def test_a_feed_that_is_closed_silently_tells_nothing() -> None:
    feed = Feed(listen)
    feed.put([News("run", 1)])
    feed.close(silently=True)
    assert [change async for change in feed] == []
