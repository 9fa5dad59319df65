"""A parcel: two carriers are asked at once, and the one that takes it is asked until it has arrived."""

from collections.abc import Callable
from typing import TypeAlias

import anyio

from stagepost.workflows import Chain, Sleep, State, Step, StepContext, Wait, key_equals, step

from .patterns import Race, Repeat, Switch

Say: TypeAlias = Callable[[str], None]
ROUNDS = 4


def carrier(name: str, seconds: float) -> Step:
    """A carrier that takes some time to answer."""

    async def ask(_state: State, context: StepContext) -> dict[str, str]:
        await anyio.sleep(seconds)
        context.deps(f"{name} takes the parcel")
        return {"carrier": name}

    return step(name, ask)


def track(state: State, context: StepContext) -> dict[str, object]:
    """Where the parcel is: it arrives in the last round."""
    stop = state.get("stop", 0) + 1
    context.deps(f"the parcel is at stop {stop}")
    return {"stop": stop, "arrived": stop == ROUNDS}


def thank(state: State, context: StepContext) -> None:
    """Say who was the quickest."""
    context.deps(f"thank you, {state['carrier']}")


def complain(_state: State, context: StepContext) -> None:
    """Say that nobody has taken it."""
    context.deps("nobody has taken the parcel")


def is_taken(state: State) -> bool:
    """Whether a carrier has taken the parcel."""
    return "carrier" in state


carriers = {"snail": carrier("snail", 3600), "swift": carrier("swift", 0.01), "by-hand": Wait("carrier")}
stop = Chain("stop", [Sleep("pause", 0.01), step(track, inline=True)])
parcel = Chain(
    "parcel",
    [
        Race("first", carriers),
        Repeat("track", stop, until=key_equals("arrived", True)),
        Switch("end", {"taken": (is_taken, step(thank, inline=True))}, step(complain, inline=True)),
    ],
)
