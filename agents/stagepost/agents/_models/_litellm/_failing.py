"""What litellm raises, in our own errors.

Its classes do not say what happened: a refused connection, a missing key and a page of HTML are all the same
InternalServerError with status 500. What can be relied on:

- The provider's headers are there exactly if a provider has answered. Then the status is its own and decides.
- Without them the causes decide, down to the connection: see `_SILENT`.
"""

from collections.abc import Iterator
from typing import Final

from ...errors import (
    AnswerCut,
    ContentRefused,
    ContextTooLong,
    ModelError,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    RateLimitReached,
    UnreadableAnswer,
)
from .._masking import KeyMask
from .._overflow import is_overflow
from .._statuses import shortened, status_error
from ._asking import named

_PREFIX: Final = "litellm."

# Names of classes among the causes of an error that came without an answer, the first that fits: what httpx, aiohttp
# and the providers' libraries call things. They are named rather than imported, so that nothing of it has to be there.
_SILENT: Final[tuple[tuple[frozenset[str], type[ModelError]], ...]] = (
    (frozenset({"ContentPolicyViolationError"}), ContentRefused),
    (
        frozenset(
            {
                "AuthenticationError",
                "BadRequestError",
                "NotFoundError",
                "PermissionDeniedError",
                "UnsupportedParamsError",
                "UnprocessableEntityError",
            }
        ),
        ModelRejected,
    ),
    (frozenset({"RateLimitError"}), RateLimitReached),
    (frozenset({"ReadTimeout", "ConnectTimeout", "PoolTimeout", "Timeout", "TimeoutError"}), ModelTimeout),
    (frozenset({"ClientPayloadError", "RemoteProtocolError", "ReadError"}), AnswerCut),
    (frozenset({"ConnectError", "APIConnectionError", "ConnectionError"}), ModelUnavailable),
)
_NO_KEY: Final = ("Missing credentials", "api_key client option")


class Failures:
    """Reads errors.

    Args:
        model: Name of the model.
        mask: What hides the secrets in their texts.
    """

    def __init__(self, model: str, mask: KeyMask) -> None:
        self._model = model
        self._mask = mask

    def read(self, error: Exception, attempt: int) -> ModelError:
        """What an error means."""
        detail = self._detail(error)
        headers = getattr(error, "litellm_response_headers", None)
        kinds = {base.__name__ for cause in _causes(error) for base in type(cause).__mro__}
        if headers is not None and "ContentPolicyViolationError" not in kinds:
            status = int(getattr(error, "status_code", 500))
            return status_error(self._model, status, headers, detail, attempt=attempt)
        if is_overflow(None, str(error)) or "ContextWindowExceededError" in kinds:
            return ContextTooLong(self._model, detail, attempt=attempt)
        if any(sign in str(error) for sign in _NO_KEY):
            return ModelRejected(self._model, detail, attempt=attempt)
        if "UnsupportedParamsError" in kinds and (setting := named(str(error))) is not None:
            detail = f"its provider does not know the setting {setting}: leave it out for this model ({detail})"
        kind = next((kind for names, kind in _SILENT if names & kinds), UnreadableAnswer)
        return kind(self._model, detail, attempt=attempt)

    def _detail(self, error: Exception) -> str:
        text = self._mask.all(str(error) or type(error).__name__).removeprefix(_PREFIX)
        return shortened(text)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what has led to it, from the outside in."""
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        seen.add(id(inner))
        yield inner
        inner = inner.__cause__ or inner.__context__
