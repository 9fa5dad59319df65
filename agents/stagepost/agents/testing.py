"""A provider of models on this machine: for tests of agents, and for examples without a network.

`LocalServer` speaks the API that OpenAI has made common, and goes wrong as its script says. As a process of its own,
which still knows what it was asked when its client is killed::

    python -m stagepost.agents.testing my_tests.scripts:WEATHER

`MODEL_CHECKS` is what every model promises, and `PROVIDER_CHECKS` what those promise beside that ask a provider, as
plain coroutine functions. Each takes a function that opens a model whose provider answers as a script says, returns if
the promise is kept, and raises `AssertionError` if it is not::

    @asynccontextmanager
    async def opened(script):
        async with LocalServer(script) as server:
            yield MyModel(server.url, key=MODEL_KEY, retries=MODEL_RETRIES)

    @pytest.mark.parametrize("check", [*MODEL_CHECKS, *PROVIDER_CHECKS], ids=lambda check: check.__name__)
    async def test_my_model_conforms(check):
        await check(opened)

The same for providers of traces: `TRACING_CHECKS` is what every provider promises, and `KEEPING_CHECKS` what those
promise beside that whose spans can be read where they send them::

    @asynccontextmanager
    async def opened():
        yield MyProvider()

    @pytest.mark.parametrize("check", TRACING_CHECKS, ids=lambda check: check.__name__)
    async def test_my_provider_conforms(check):
        await check(opened)
"""

from typing import Final

from ._models._conformance import _answers, _failures
from ._models._conformance._failures import MODEL_KEY, MODEL_RETRIES
from ._models._conformance._words import ModelCheck, Opened
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
from ._tracing._conformance._keeping import KEEPING_CHECKS
from ._tracing._conformance._protocol import TRACING_CHECKS
from ._tracing._conformance._words import Keeping, KeepingCheck, KeepingOpened, KeptSpan, TracingCheck, TracingOpened

__all__ = [
    "KEEPING_CHECKS",
    "MODEL_CHECKS",
    "MODEL_KEY",
    "MODEL_RETRIES",
    "PROVIDER_CHECKS",
    "TRACING_CHECKS",
    "Cut",
    "Drip",
    "Garbage",
    "Hang",
    "Keeping",
    "KeepingCheck",
    "KeepingOpened",
    "KeptSpan",
    "LocalServer",
    "ModelCheck",
    "Opened",
    "ServerEntry",
    "ServerRequest",
    "ServerScript",
    "Slow",
    "Status",
    "TracingCheck",
    "TracingOpened",
]

MODEL_CHECKS: Final[tuple[ModelCheck, ...]] = _answers.CHECKS
PROVIDER_CHECKS: Final[tuple[ModelCheck, ...]] = _failures.CHECKS

if __name__ == "__main__":
    main()
