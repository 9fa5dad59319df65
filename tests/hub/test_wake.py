import asyncio

from stagepost.hub._wake import current_backend


class SlowTime(asyncio.SelectorEventLoop):
    """A loop with a clock of its own, as test tools for virtual time have."""

    def time(self) -> float:
        return super().time() / 2


def test_a_loop_with_its_own_clock_is_asked_for_the_time() -> None:
    async def ahead() -> float:
        return current_backend().clock() - asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=SlowTime) as runner:
        assert abs(runner.run(ahead())) < 0.1
