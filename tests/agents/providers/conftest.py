"""One server and one event loop for a module, and the marks of what does not pass yet."""

from collections.abc import AsyncIterator, Generator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.agents.providers._all import PROVIDERS
from tests.agents.providers._place import Place
from tests.agents.providers._red import RED
from tests.agents.providers._rules import Provider
from tests.agents.providers._server import ProviderServer

from stagepost.agents import LiteLLM

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cells of the table of scenarios that are known to be red, and those that are long."""
    known: dict[str, int] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.path.is_relative_to(HERE) and hasattr(item, "callspec"):
            scenario, provider, mode = _cell(item)
            number = known.setdefault(scenario, len(known))
            if provider and getattr(item.module, "IN_TURNS", False) and not _has_turn(number, provider, mode):
                item.add_marker(pytest.mark.long)
            why = RED.get((scenario, provider)) or RED.get((scenario, f"{provider}:{mode}"))
            if why is not None:
                item.add_marker(pytest.mark.xfail(strict=True, reason=why))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Have a red cell say in one line what came of it: its whole traceback takes longer to print than all the rest."""
    try:
        return (yield)
    except Exception as error:
        if item.get_closest_marker("xfail") is None or item.config.getoption("runxfail"):
            raise
        raise AssertionError(f"{type(error).__name__}: {error}") from None


def _has_turn(number: int, provider: str, mode: str) -> bool:
    """Whether a scenario is one for this provider and mode: every second, so that each meets all others."""
    column = [each.name for each in PROVIDERS].index(provider)
    return (number + column) % 2 == (mode == "stream")


def _cell(item: pytest.Function) -> tuple[str, str, str]:
    """The scenario, with the id of its own case if it has several, the provider, and whether it is streamed."""
    provider = item.callspec.params.get("provider")
    if not isinstance(provider, Provider):
        return item.name, "", ""
    parts = item.callspec.id.replace(provider.name, "").split("-")
    own = "-".join(part for part in parts if part not in ("", "whole", "stream"))
    mode = "stream" if item.callspec.params.get("stream") else "whole"
    return (f"{item.originalname}[{own}]" if own else item.originalname), provider.name, mode


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def server(anyio_backend: str) -> AsyncIterator[ProviderServer]:
    """The server; being async, it makes all tests of a module share an event loop, and so litellm its connections."""
    if find_spec("litellm") is None:
        pytest.skip("needs litellm: pip install 'stagepost[llm]'")
    with ProviderServer() as server:
        async with LiteLLM("openai/none"):
            yield server


@pytest.fixture
def place(server: ProviderServer, provider: Provider, stream: bool, monkeypatch: pytest.MonkeyPatch) -> Place:  # noqa: FBT001  # a table's column
    return Place(server, provider, stream, monkeypatch)
