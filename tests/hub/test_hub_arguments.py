import math

import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.hub._agents import Ping, Pong, Recorder, echo

from stagepost.hub import Hub, HubError, InvalidArgument, InvalidName


class Clockless:
    def now(self) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"dead_letters": -1}, "dead_letters"),
        ({"resting": 0}, "resting"),
        ({"resting": 1.5}, "resting"),
        ({"dead_letters": 1.5}, "dead_letters"),
        ({"dead_letters": None}, "dead_letters"),
        ({"dead_letters": True}, "dead_letters"),
        ({"dead_letters": "9"}, "dead_letters"),
        ({"grace": -1}, "grace"),
        ({"grace": math.nan}, "grace"),
        ({"grace": "10"}, "grace"),
        ({"observer": print}, "observer"),
        ({"observer": Recorder}, "observer"),
        ({"observer": 1}, "observer"),
        ({"middleware": 1}, "middleware"),
        ({"middleware": "abc"}, r"middleware\[0\]"),
        ({"middleware": [echo, None]}, r"middleware\[1\]"),
        ({"middleware": [Recorder]}, r"middleware\[0\]"),
        ({"check_payloads": "no"}, "check_payloads"),
        ({"clock": Clockless()}, "clock"),
        ({"clock": 1.0}, "clock"),
    ],
)
def test_what_a_hub_cannot_be_made_of_is_refused_at_once(options: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{named} is .*use "):
        Hub(**options)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("name", ["", "a b", "ä", 7, None], ids=str)
def test_a_name_that_is_none_is_refused(name: object) -> None:
    with pytest.raises(InvalidName):
        Hub(name)  # type: ignore[arg-type]  # that is the point


async def test_a_refused_hub_leaves_the_scopes_around_it_alone() -> None:
    with fail_after(5) as scope:
        with pytest.raises(HubError):
            async with Hub(dead_letters=-1):
                pass
        async with Hub(dead_letters=0, grace=None) as hub:
            hub.register("echo", echo)
            assert await hub.request("echo", Ping(1)) == Pong(1)
        await checkpoint()
    assert not scope.cancelled_caught
