"""What a model promises beside that asks a provider, which may fail."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import anyio
from anyio import fail_after

from ..._retries import Retries
from ...errors import ModelError, ModelRejected, ModelTimeout, ModelUnavailable, RateLimitReached, UnreadableAnswer
from .._around import model_secrets
from .._local import Cut, Garbage, Hang, ServerEntry, Status
from .._model import Token
from .._settings import ModelSettings
from ._words import PATIENCE, ModelCheck, Opened, asks, equal, failure_of

MODEL_KEY: Final = "key-of-the-conformance-suite-2718281828"
"""The key that a model is opened with for the checks of failures."""

MODEL_RETRIES: Final = Retries(attempts=3, first=0, most=0, jitter=0, patience=1)
"""The retries that a model is opened with for the checks of failures."""

_SOON: Final = 0.3  # seconds
_PASSING: Final[tuple[ServerEntry, ...]] = (Status(429, retry_after=0), Status(503), Garbage())


async def check_what_passes_is_tried_again(opened: Opened) -> None:
    """Too many requests, a server that has failed, a page of HTML in between."""
    for entry in _PASSING:
        async with opened([entry, "Boats."]) as model:
            with fail_after(PATIENCE):
                equal((await model.answer(asks())).text, "Boats.")


async def check_what_does_not_pass_is_told_after_the_last_attempt(opened: Opened) -> None:
    """With the class of the last failure and the number of the attempt."""
    for entry, kind in (
        (Status(429), RateLimitReached),
        (Status(503), ModelUnavailable),
        (Garbage(), UnreadableAnswer),
    ):
        async with opened([entry] * 3) as model:
            with fail_after(PATIENCE):
                error = await failure_of(model, asks(), kind)
        equal(error.attempt, MODEL_RETRIES.attempts)


async def check_a_refusal_is_told_at_once(opened: Opened) -> None:
    """What is wrong with the request or the key is wrong the next time, too."""
    for code in (400, 401, 404):
        async with opened([Status(code, message="told so"), "never given"]) as model:
            with fail_after(PATIENCE):
                error = await failure_of(model, asks(), ModelRejected)
        equal((getattr(error, "status", None), error.attempt, "told so" in error.detail), (code, 1, True))


async def check_who_wants_to_be_left_alone_for_long_is_not_asked_again(opened: Opened) -> None:
    """The pause that a provider asks for is told, and not waited for if it is longer than the retries' patience."""
    async with opened([Status(429, retry_after=600), "never given"]) as model:
        with fail_after(PATIENCE):
            error = await failure_of(model, asks(), RateLimitReached)
    equal((getattr(error, "retry_after", None), error.attempt), (600, 1))


async def check_silence_ends_by_the_time_limit(opened: Opened) -> None:
    """Streamed or not, and also after the answer has begun. That of the request's settings is stronger."""
    for entry, tokens in ((Hang(), None), (Hang(after=2), list[Token]())):
        request = replace(asks(tokens=tokens), settings=ModelSettings(timeout=_SOON))
        async with opened([entry] * 3) as model:
            with fail_after(PATIENCE):
                await failure_of(model, request, ModelTimeout)


async def check_an_answer_that_is_cut_is_asked_for_again(opened: Opened) -> None:
    """Whoever listens is told by the number 0 that the answer begins anew."""
    for entry in (Cut(after=3), Cut(after=3, clean=True)):
        tokens: list[Token] = []
        async with opened([entry, "Two boats are there."]) as model:
            with fail_after(PATIENCE):
                equal((await model.answer(asks(tokens=tokens))).text, "Two boats are there.")
        begun = max(place for place, token in enumerate(tokens) if token.number == 0)
        equal("".join(token.text for token in tokens[begun:]), "Two boats are there.")


async def check_no_error_shows_the_key(opened: Opened) -> None:
    """Neither its text nor what led to it, though the provider repeats it; and runs are told what to mask."""
    for code in (401, 503):
        async with opened([Status(code, message=f"the key {MODEL_KEY} is not known")] * 3) as model:
            equal(MODEL_KEY in model_secrets(model), True)
            with fail_after(PATIENCE):
                error = await failure_of(model, asks(), ModelError)
        shown = [text for each in _all(error) for text in (str(each), repr(each), repr(vars(each)))]
        equal([text for text in shown if MODEL_KEY in text], [])


async def check_a_silent_provider_can_be_left(opened: Opened) -> None:
    """Cancelled meanwhile, the model can be asked again."""
    async with opened([Hang(), "Boats."]) as model:
        with fail_after(PATIENCE), anyio.move_on_after(_SOON) as scope:
            await model.answer(asks())
        equal(scope.cancelled_caught, True)
        with fail_after(PATIENCE):
            equal((await model.answer(asks())).text, "Boats.")


def _all(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


CHECKS: Final[tuple[ModelCheck, ...]] = (
    check_what_passes_is_tried_again,
    check_what_does_not_pass_is_told_after_the_last_attempt,
    check_a_refusal_is_told_at_once,
    check_who_wants_to_be_left_alone_for_long_is_not_asked_again,
    check_silence_ends_by_the_time_limit,
    check_an_answer_that_is_cut_is_asked_for_again,
    check_no_error_shows_the_key,
    check_a_silent_provider_can_be_left,
)
