"""Every model of the package is held to what models promise: doubles, those made of others, and real ones."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from own_model import ChatModel

from stagepost.agents import (
    AssistantMessage,
    Cached,
    Fallback,
    FunctionModel,
    LiteLLM,
    Model,
    ModelError,
    ModelRejected,
    ModelRequest,
    RateLimited,
    ReplayModel,
    ScriptedModel,
    ScriptEntry,
    testing,
)
from stagepost.agents.models import Attempt
from stagepost.agents.testing import (
    MODEL_CHECKS,
    MODEL_KEY,
    MODEL_RETRIES,
    PROVIDER_CHECKS,
    Garbage,
    LocalServer,
    ModelCheck,
    Opened,
    ServerEntry,
    Status,
)
from stagepost.workflows import new_run_id

needs_litellm = pytest.mark.skipif(find_spec("litellm") is None, reason="needs litellm: pip install 'stagepost[llm]'")


@asynccontextmanager
async def chat(script: Sequence[ServerEntry]) -> AsyncIterator[Model]:
    async with LocalServer(script) as server:
        yield ChatModel("local", server.url, key=MODEL_KEY, retries=MODEL_RETRIES)


@asynccontextmanager
async def litellm(script: Sequence[ServerEntry]) -> AsyncIterator[Model]:
    async with (
        LocalServer(script) as server,
        LiteLLM("openai/local", api_base=server.url, api_key=MODEL_KEY, retries=MODEL_RETRIES) as model,
    ):
        yield model


@asynccontextmanager
async def scripted(script: Sequence[ServerEntry]) -> AsyncIterator[Model]:
    yield ScriptedModel(cast("Sequence[ScriptEntry]", script))


@asynccontextmanager
async def function(script: Sequence[ServerEntry]) -> AsyncIterator[Model]:
    def answer(request: ModelRequest) -> ScriptEntry:
        return cast("ScriptEntry", script[sum(isinstance(said, AssistantMessage) for said in request.messages)])

    yield FunctionModel(answer)  # type: ignore[arg-type]  # there are no errors in these scripts


@asynccontextmanager
async def replayed(script: Sequence[ServerEntry]) -> AsyncIterator[Model]:
    with TemporaryDirectory() as folder:
        async with scripted(script) as model:
            yield ReplayModel(Path(folder) / "answers.jsonl", record=model)


def wrapped(wrap: Callable[[Model], Model], inner: Opened) -> Opened:
    @asynccontextmanager
    async def opened(script: Sequence[ServerEntry]) -> AsyncIterator[Model]:
        async with inner(script) as model:
            yield wrap(model)

    return opened


def fallback(model: Model) -> Model:
    return Fallback([model])


def limited(model: Model) -> Model:
    return RateLimited(model, per_minute=1000)


def cached(model: Model) -> Model:
    return Cached(model, tenant=lambda _: new_run_id())  # or the same question would cost nothing the second time


DOUBLES: dict[str, Opened] = {
    "scripted": scripted,
    "function": function,
    "replayed": replayed,
    "fallback": wrapped(fallback, scripted),
    "limited": wrapped(limited, scripted),
    "cached": wrapped(cached, scripted),
}


def named(check: ModelCheck) -> str:
    return str(getattr(check, "__name__", check))


@pytest.mark.parametrize("check", MODEL_CHECKS, ids=named)
@pytest.mark.parametrize("opened", DOUBLES.values(), ids=DOUBLES)
async def test_a_double_is_a_model(opened: Opened, check: ModelCheck) -> None:
    await check(opened)


@pytest.mark.parametrize("check", [*MODEL_CHECKS, *PROVIDER_CHECKS], ids=named)
async def test_a_model_made_with_the_kit_is_one(check: ModelCheck) -> None:
    await check(chat)


@needs_litellm
@pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier", "ignore::DeprecationWarning")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("check", [*MODEL_CHECKS, *PROVIDER_CHECKS], ids=named)
async def test_litellm_is_a_model(check: ModelCheck) -> None:
    await check(litellm)


class Forgetful:
    """Answers by counting, hears nobody, hides nothing."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner

    async def answer(self, request: ModelRequest) -> object:
        return await self._inner.answer(ModelRequest(request.messages[:2]))


async def test_the_suite_finds_a_model_that_is_none() -> None:
    opened = cast("Callable[[Model], Model]", Forgetful)
    failed = set()
    for check in MODEL_CHECKS:
        try:
            await check(wrapped(opened, scripted))
        except (AssertionError, IndexError):
            failed.add(named(check))
    assert {
        "check_a_conversation_goes_on_with_what_was_said",
        "check_what_is_asked_again_is_answered_again",
        "check_who_listens_hears_the_whole_text_in_pieces",
    } <= failed


def test_the_names_of_the_suite_are_listed() -> None:
    assert list(testing.__all__) == sorted(testing.__all__, key=lambda name: (not name.isupper(), name))
    opened: Callable[[Sequence[ServerEntry]], AbstractAsyncContextManager[Model]] = chat
    assert opened is chat


class Stubborn(ChatModel):
    """Is asked again whatever has happened, and says that all is a refusal."""

    def failure(self, error: Exception, attempt: Attempt) -> ModelError:
        return attempt.error(ModelRejected, str(error))


async def test_the_suite_finds_a_model_that_words_failures_wrong() -> None:
    @asynccontextmanager
    async def opened(script: Sequence[ServerEntry]) -> AsyncIterator[Model]:
        async with LocalServer([Garbage() if isinstance(entry, Status) else entry for entry in script]) as server:
            yield Stubborn("local", server.url, key=MODEL_KEY, retries=MODEL_RETRIES)

    wrong = dict(zip(map(named, PROVIDER_CHECKS), PROVIDER_CHECKS, strict=True))
    with pytest.raises(AssertionError, match="expected RateLimitReached, and it raised ModelRejected"):
        await wrong["check_what_does_not_pass_is_told_after_the_last_attempt"](opened)


async def test_the_suite_finds_a_model_that_answers_where_it_should_fail() -> None:
    @asynccontextmanager
    async def opened(_script: Sequence[ServerEntry]) -> AsyncIterator[Model]:
        yield ScriptedModel(["all is well"])

    wrong = dict(zip(map(named, PROVIDER_CHECKS), PROVIDER_CHECKS, strict=True))
    with pytest.raises(AssertionError, match="expected ModelRejected, and it answered"):
        await wrong["check_a_refusal_is_told_at_once"](opened)
