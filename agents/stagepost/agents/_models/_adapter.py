"""What models of all providers have in common: retries, time limits, tokens, and errors that show no key."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Final

from anyio import CancelScope, current_time, fail_after

from stagepost.hub import Duration, leaves_of, seconds

from .._retries import Retries, retried
from ..errors import InvalidModel, ModelError, ModelTimeout, ModelUnavailable, UnreadableAnswer, UnsupportedTool
from ._masking import KeyMask
from ._model import ModelRequest, ModelResponse, TokenKind
from ._settings import ModelSettings
from ._statuses import shortened, status_error
from ._tokens import Tokens

_RETRIES: Final = Retries()
_SETTINGS: Final = ModelSettings()


class Attempt:
    """One attempt at an answer: hands on its pieces, keeps its time, and words what goes wrong with it.

    Args:
        model: Name of the model.
        number: Which attempt it is, from 1.
        tokens: Where the pieces go.
        mask: What hides the secrets.
        limit: Seconds that it may be silent; None for no limit.

    Attributes:
        model: Name of the model.
        number: Which attempt it is, from 1.
    """

    def __init__(self, model: str, number: int, tokens: Tokens, mask: KeyMask, limit: float | None) -> None:
        self.model = model
        self.number = number
        self._tokens = tokens
        self._mask = mask
        self._limit = limit
        self._scope: CancelScope | None = None

    def token(self, text: str, kind: TokenKind = "text", tool: str | None = None, call: int | None = None) -> None:
        """Hand on a piece of the answer as it comes, and give the next one its time. From the event loop only.

        Pieces of an attempt that has ended are dropped: a thread may bring some after it was left alone.

        Args:
            text: The piece.
            kind: What it is a part of.
            tool: Name of the tool, if it is a part of a call's arguments.
            call: Index of the call among those of the answer, if it is a part of its arguments.
        """
        if self._scope is not None:
            self.alive()
            self._tokens.add(text, kind, tool, call)

    def alive(self) -> None:
        """Something has come that nobody listens to, such as a sign of life: the time limit begins anew."""
        if self._scope is not None and self._limit is not None:
            self._scope.deadline = current_time() + self._limit

    def status(self, code: int, headers: Mapping[str, str], text: str) -> ModelError:
        """The error that an HTTP status stands for: raise it.

        Args:
            code: A status of 400 or more.
            headers: The answer's headers; ``retry-after`` is heeded.
            text: What the provider says.
        """
        return status_error(self.model, code, headers, self._detail(text), attempt=self.number)

    def error(self, kind: type[ModelError], detail: str) -> ModelError:
        """An error of a kind: raise it. Secrets in the detail are masked."""
        return kind(self.model, self._detail(detail), attempt=self.number)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Keeps the time of what is done in this block: for `ModelAdapter`, which makes the attempt."""
        try:
            with fail_after(self._limit) as self._scope:
                yield
        finally:
            self._scope = None

    def _detail(self, text: str) -> str:
        return shortened(self._mask.all(text))


class ModelAdapter(ABC):
    """A model whose provider you ask yourself: derive from it and write `ask`, which asks once.

    What comes with it is what the models of this package do: an error that may pass is tried again, as `retries` says;
    an attempt that is silent for too long ends; whoever listens gets the pieces; no error shows a secret, neither in
    its text nor by its cause, and the runs of agents that ask the model mask them; the settings of a run are stronger
    than those of its agent, and these than the model's own.

    Args:
        name: The model, as errors and logs name it.
        secrets: Texts that nobody may see, such as the key.
        settings: How it is to answer, as far as the agent and the run do not say.
        timeout: Seconds (or a `timedelta`) that an attempt may be silent; None for no limit. A ``timeout`` of the
            settings is stronger.
        retries: When to ask again.

    Attributes:
        name: The model.
        settings: Its own settings.
        retries: When it is asked again.
        secrets: What runs may not keep.

    Raises:
        InvalidModel: The name is empty.
        ValueError: The timeout is no time.
    """

    def __init__(
        self,
        name: str,
        *,
        secrets: Iterable[str] = (),
        settings: ModelSettings = _SETTINGS,
        timeout: Duration | None = 120.0,
        retries: Retries = _RETRIES,
    ) -> None:
        if not name:
            raise InvalidModel(type(self).__name__, "the name is empty: errors and logs need one")
        self.name = name
        self.settings = settings
        self.retries = retries
        self.secrets: Sequence[str] = tuple(filter(None, secrets))
        self._timeout = None if timeout is None else seconds(timeout)
        self._mask = KeyMask(self.secrets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @abstractmethod
    async def ask(self, request: ModelRequest, attempt: Attempt) -> ModelResponse:
        """Ask the provider once, and give its answer.

        Args:
            request: What to ask; its settings are all that there are.
            attempt: Takes the pieces of the answer as they come, if ``request.on_token`` is not None, and makes errors.

        Raises:
            ModelError: There is no answer: `Attempt.status` and `Attempt.error` make these.
            Exception: Anything else: `failure` says what it means.
        """

    def check_provider_tools(self, request: ModelRequest) -> None:
        """Check that the provider takes the tools that it is to execute itself; called if a request has some.

        By default it takes none: override this if `ask` sends `ModelRequest.provider_tools`.

        Raises:
            UnsupportedTool: It does not take one of them.
        """
        for tool in request.provider_tools:
            raise UnsupportedTool(self.name, tool.name, f"{type(self).__name__} sends its provider no such tools")

    def failure(self, error: Exception, attempt: Attempt) -> ModelError:
        """What an error of `ask` means that is no `ModelError`.

        By default an `OSError` means that the model is not available, and may be later; any other that what has come
        cannot be read.
        """
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return attempt.error(ModelUnavailable if isinstance(error, OSError) else UnreadableAnswer, text)

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Ask the model, again if need be.

        Raises:
            ModelError: There is no answer; the class says why.
        """
        if request.provider_tools:
            self.check_provider_tools(request)
        asked = replace(request, settings=request.settings.over(self.settings))
        return await retried(partial(self._attempt, asked), self.retries)

    async def _attempt(self, request: ModelRequest, number: int) -> ModelResponse:
        limit = self._timeout if request.settings.timeout is None else request.settings.timeout
        attempt = Attempt(self.name, number, Tokens(request), self._mask, limit)
        try:
            with attempt.timed():
                return await self.ask(request, attempt)
        except Exception as error:  # noqa: BLE001  # libraries of providers raise whatever those below them do
            failure = self._read(_one(error), attempt, limit)
        failure.__cause__ = failure.__context__ = None  # whose texts may show a key
        raise failure

    def _read(self, error: BaseException, attempt: Attempt, limit: float | None) -> BaseException:
        if isinstance(error, ModelError) or not isinstance(error, Exception):
            return error
        if isinstance(error, TimeoutError):
            return attempt.error(ModelTimeout, f"nothing came within {limit} s")
        return self.failure(error, attempt)


def _one(error: Exception) -> BaseException:
    """The error; of the task group of an attempt, that of a model if there is one, or else the first."""
    leaves = tuple(leaves_of(error))
    return next((leaf for leaf in leaves if isinstance(leaf, ModelError)), leaves[0])
