import subprocess
import sys
from pathlib import Path

from anyio import fail_after
from two_hubs import Bridge

from stagepost.hub import Hub
from stagepost.hub.testing import Probe, idle

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_hubs.py"


def test_each_hub_hears_of_each_order_once() -> None:
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=30, check=True)
    assert sorted(done.stdout.splitlines()) == [
        "berlin heard of one table",
        "berlin heard of three chairs",
        "lisbon heard of one table",
        "lisbon heard of three chairs",
    ]


async def test_bridges_in_a_circle_pass_everything_once() -> None:
    names = ("a", "b", "c")
    hubs, probes = [Hub(name) for name in names], [Probe() for _ in names]
    with fail_after(10):
        async with hubs[0], hubs[1], hubs[2]:
            for hub, probe in zip(hubs, probes, strict=True):
                hub.register(probe, topics=["x.>"])
            Bridge(hubs, "x.>")
            await hubs[1].publish("x.y", 1)
            for _ in range(3):
                for hub in hubs:
                    await idle(hub)
    assert [probe.payloads for probe in probes] == [[1], [1], [1]]
