"""A provider of models on this machine: for tests of agents, and for examples without a network.

`LocalServer` speaks the API that OpenAI has made common, and goes wrong as its script says. As a process of its own,
which still knows what it was asked when its client is killed::

    python -m stagepost.agents.testing my_tests.scripts:WEATHER
"""

from ._models._local import (
    Cut,
    Drip,
    Garbage,
    Hang,
    LocalServer,
    ServerEntry,
    ServerRequest,
    ServerScript,
    Slow,
    Status,
    main,
)

__all__ = [
    "Cut",
    "Drip",
    "Garbage",
    "Hang",
    "LocalServer",
    "ServerEntry",
    "ServerRequest",
    "ServerScript",
    "Slow",
    "Status",
]

if __name__ == "__main__":
    main()
