import asyncio

from stagepost.hub._wake import current_backend


class SlowTime(asyncio.SelectorEventLoop):
    """A loop with a clock of its own, as test tools for virtual time have."""

    def time(self) -> float:
        return super().time() / 2


def test_a_loop_with_its_own_clock_is_asked_for_the_time() -> None:
    async def times() -> list[float]:
        loop = asyncio.get_running_loop()
        return [loop.time(), current_backend().clock(), loop.time()]

    with asyncio.Runner(loop_factory=SlowTime) as runner:
        times_read = runner.run(times())
    assert times_read == sorted(times_read)
