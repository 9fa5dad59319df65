"""What a model gets that is made with the kit, beside what the suite asks of all models."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from anyio import fail_after
from anyio.abc import TaskStatus

from stagepost.agents import (
    Agent,
    AnswerCut,
    InfrastructureError,
    InvalidModel,
    ModelError,
    ModelRejected,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    ModelTimeout,
    ModelUnavailable,
    Retries,
    Token,
    UnreadableAnswer,
    UserMessage,
    models,
)
from stagepost.agents.models import Attempt, KeyMask, ModelAdapter, status_error

KEY = "key-of-the-provider-31415"
ONCE = Retries(attempts=1)
ASKED = ModelRequest([UserMessage(text="?")])
PATIENCE = 10

Ask = Callable[[ModelRequest, Attempt], Awaitable[ModelResponse]]


class Odd(ModelAdapter):
    def __init__(self, ask: Ask, **options: Any) -> None:
        super().__init__("odd", secrets=[KEY, ""], **{"retries": ONCE, **options})
        self._how = ask

    async def ask(self, request: ModelRequest, attempt: Attempt) -> ModelResponse:
        return await self._how(request, attempt)


def raises(error: BaseException) -> Ask:
    async def ask(_request: ModelRequest, _attempt: Attempt) -> ModelResponse:
        raise error

    return ask


def test_everything_in_the_kit_is_listed_and_documented() -> None:
    assert list(models.__all__) == sorted(models.__all__)
    assert all(getattr(models, name).__doc__ for name in models.__all__)


@pytest.mark.parametrize(
    ("error", "kind", "detail"),
    [
        (ConnectionResetError("gone"), ModelUnavailable, "ConnectionResetError: gone"),
        (TimeoutError(), ModelTimeout, "nothing came within 120.0 s"),
        (KeyError("choices"), UnreadableAnswer, "KeyError: 'choices'"),
        (ValueError(), UnreadableAnswer, "ValueError"),
        (ValueError(f"no JSON:\n {KEY}"), UnreadableAnswer, "ValueError: no JSON: ***"),
        (ExceptionGroup("", [OSError("two at once")]), ModelUnavailable, "OSError: two at once"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:30],
)
async def test_what_a_library_raises_becomes_an_error_of_a_model(
    error: Exception, kind: type[ModelError], detail: str
) -> None:
    with pytest.raises(kind) as caught:
        await Odd(raises(error)).answer(ASKED)
    assert (caught.value.model, caught.value.detail, caught.value.attempt) == ("odd", detail, 1)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


async def test_an_error_of_the_models_own_stays_and_carries_nothing_that_shows_a_key() -> None:
    async def ask(_request: ModelRequest, attempt: Attempt) -> ModelResponse:
        try:
            return ModelResponse(dict[str, str]()[KEY])
        except KeyError as error:
            raise attempt.error(AnswerCut, f"after {KEY}") from error

    with pytest.raises(AnswerCut) as caught:
        await Odd(ask).answer(ASKED)
    assert caught.value.detail == "after ***"
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


async def test_an_adapter_may_say_itself_what_an_error_means() -> None:
    class Sure(Odd):
        def failure(self, error: Exception, attempt: Attempt) -> ModelError:
            return attempt.error(ModelRejected, f"for sure: {error}")

    with pytest.raises(ModelRejected, match="for sure: no"):
        await Sure(raises(OSError("no"))).answer(ASKED)


async def test_what_is_no_failure_is_none_of_the_models() -> None:
    with pytest.raises(KeyboardInterrupt):
        await Odd(raises(KeyboardInterrupt())).answer(ASKED)


async def test_attempts_are_numbered_and_the_last_error_is_told() -> None:
    numbers: list[int] = []

    async def ask(_request: ModelRequest, attempt: Attempt) -> ModelResponse:
        numbers.append(attempt.number)
        raise attempt.status(503, {}, "busy")

    with pytest.raises(ModelUnavailable, match=r"attempt 3\): status 503: busy") as caught:
        await Odd(ask, retries=Retries(attempts=3, first=0, jitter=0)).answer(ASKED)
    assert (numbers, caught.value.attempt) == ([1, 2, 3], 3)


async def test_whatever_comes_gives_the_next_piece_its_time() -> None:
    async def ask(_request: ModelRequest, attempt: Attempt) -> ModelResponse:
        for _ in range(4):
            await anyio.sleep(0.4)
            attempt.alive()
        return ModelResponse("late")

    with fail_after(PATIENCE):
        assert (await Odd(ask, timeout=1.5).answer(ASKED)).text == "late"


async def test_without_a_limit_nothing_ends_a_silence() -> None:
    async def ask(_request: ModelRequest, attempt: Attempt) -> ModelResponse:
        attempt.alive()
        return ModelResponse(str(anyio.current_effective_deadline()))

    assert (await Odd(ask, timeout=None).answer(ASKED)).text == "inf"


async def test_settings_of_the_request_are_stronger_than_those_of_the_model() -> None:
    asked: list[ModelSettings] = []

    async def ask(request: ModelRequest, _attempt: Attempt) -> ModelResponse:
        asked.append(request.settings)
        return ModelResponse("done")

    model = Odd(ask, settings=ModelSettings(temperature=1.0, seed=7))
    await Agent("one", "Answer.", model=model).run("?", settings=ModelSettings(temperature=0.0))
    assert [(settings.temperature, settings.seed) for settings in asked] == [(0.0, 7)]


async def test_pieces_that_come_after_an_attempt_has_ended_are_dropped() -> None:
    heard: list[Token] = []
    kept: list[Attempt] = []

    async def ask(_request: ModelRequest, attempt: Attempt) -> ModelResponse:
        kept.append(attempt)
        attempt.token("in time", "thinking")
        return ModelResponse("done")

    await Odd(ask).answer(ModelRequest(ASKED.messages, on_token=heard.append))
    kept[0].token("too late")
    kept[0].alive()
    assert heard == [Token(0, "in time", "thinking")]


async def test_a_model_that_is_cancelled_is_cancelled() -> None:
    async def ask(_request: ModelRequest, _attempt: Attempt) -> ModelResponse:
        await anyio.sleep_forever()
        raise AssertionError

    async def run(*, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        await Odd(ask).answer(ASKED)

    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            await group.start(run)
            group.cancel_scope.cancel()


def test_a_model_needs_a_name_and_shows_no_key() -> None:
    class Nameless(Odd):
        def __init__(self) -> None:
            ModelAdapter.__init__(self, "")

    with pytest.raises(InvalidModel, match="Nameless: the name is empty"):
        Nameless()
    model = Odd(raises(OSError()))
    assert (repr(model), list(model.secrets)) == ("Odd('odd')", [KEY])


async def test_the_runs_of_an_agent_keep_no_key_of_its_model() -> None:
    async def ask(_request: ModelRequest, _attempt: Attempt) -> ModelResponse:
        return ModelResponse(f"my key is {KEY}")

    assert (await Agent("one", "Answer.", model=Odd(ask)).run("?")).output == "my key is ***"


@pytest.mark.parametrize(
    ("status", "passes"), [(400, False), (403, False), (408, True), (409, True), (429, True), (500, True)]
)
def test_statuses_say_whether_they_pass(status: int, passes: bool) -> None:  # noqa: FBT001  # a table's column
    error = status_error("odd", status, {"RETRY-AFTER": "2"}, "why")
    assert isinstance(error, InfrastructureError) is passes
    assert getattr(error, "retry_after", None) == (2 if passes else None)


def test_a_mask_of_keys_hides_what_looks_like_one() -> None:
    mask = KeyMask([KEY])
    assert mask.all(f"{KEY} and sk-0123456789abc") == "*** and ***"
    assert mask.known(f"{KEY} and sk-0123456789abc") == "*** and sk-0123456789abc"
