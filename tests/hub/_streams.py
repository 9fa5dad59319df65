"""Handlers that stream, for the tests."""

from collections.abc import AsyncIterator, Iterator

from anyio import Event as Flag
from anyio import sleep_forever

from stagepost.hub import Context, handles


async def count(number: int) -> AsyncIterator[int]:
    for part in range(number):
        yield part


def spell(text: str) -> Iterator[str]:
    yield from text


async def double(number: int) -> int:
    return 2 * number


async def break_off(number: int) -> AsyncIterator[int]:
    for part in range(number):
        yield part
    raise ZeroDivisionError("enough")


class Source:
    """Streams numbers, as many as asked for, and notes how far it is and how it ended."""

    def __init__(self, agent: str = "source") -> None:
        self.id = agent
        self.made = 0
        self.closed = Flag()
        self.ended_by: type[BaseException] | None = None

    @handles
    async def stream(self, number: int) -> AsyncIterator[int]:
        try:
            for part in range(number):
                self.made += 1
                yield part
            await sleep_forever()
        except BaseException as error:
            self.ended_by = type(error)
            raise
        finally:
            self.closed.set()


async def relay(number: int, context: Context) -> AsyncIterator[int]:
    async for part in context.stream("count", number, expect=int):
        yield 10 * part
