"""The common base of models that wrap other models."""

from collections.abc import Iterable, Sequence

from ..errors import InvalidModel, UnsupportedPart, UnsupportedTool
from ._as_model import as_model
from ._model import Model, ModelRequest
from ._parts import Part


class Around:
    """Forwards calls to the wrapped models.

    Args:
        models: Models, or their names.
    """

    def __init__(self, models: Iterable[Model | str]) -> None:
        if isinstance(models, str):
            raise InvalidModel(type(self).__name__, f"it takes a list of models, and not one text: [{models!r}]")
        self._inside: Sequence[Model] = tuple(map(as_model, models))

    @property
    def secrets(self) -> Sequence[str]:
        """The secrets of the wrapped models: see `LiteLLM.secrets`."""
        return tuple(secret for model in self._inside for secret in model_secrets(model))

    @property
    def context_window(self) -> int | None:
        """The tokens that each of the wrapped models can read: see `LiteLLM.context_window`."""
        known = [window for model in self._inside if (window := model_window(model)) is not None]
        return min(known, default=None)

    async def count_tokens(self, text: str) -> int:
        """The tokens of a text, by the first of the wrapped models that can count: see `LiteLLM.count_tokens`."""
        for model in self._inside:
            if count := await count_tokens(model, text):
                return count
        return 0

    def check_parts(self, parts: Iterable[Part]) -> None:
        """Check that a wrapped model can take pictures, sounds and files: see `LiteLLM.check_parts`.

        Raises:
            UnsupportedPart: None can; it is the error of the first.
        """
        parts = tuple(parts)
        errors = [error for model in self._inside if (error := refusal(model, parts)) is not None]
        if errors and len(errors) == len(self._inside):
            raise errors[0]

    def check_provider_tools(self, request: ModelRequest) -> None:
        """Check that a wrapped model takes the provider tools: see `LiteLLM.check_provider_tools`.

        Raises:
            UnsupportedTool: None does; it is the error of the first.
        """
        errors = [error for model in self._inside if (error := tool_refusal(model, request)) is not None]
        if errors and len(errors) == len(self._inside):
            raise errors[0]

    async def prepare(self) -> None:
        """Prepare those that can be prepared: see `LiteLLM.prepare`."""
        for model in self._inside:
            await prepare_model(model)

    async def release(self) -> None:
        """Release those that hold something of this event loop: see `LiteLLM.release`."""
        for model in self._inside:
            await release_model(model)

    async def aclose(self) -> None:
        """Close those that can be closed: see `LiteLLM.aclose`."""
        for model in self._inside:
            await close_model(model)


def model_secrets(model: Model) -> Sequence[str]:
    """The secrets of a model, if it has an attribute ``secrets``."""
    return tuple(getattr(model, "secrets", ()))


def model_window(model: Model) -> int | None:
    """The tokens that a model can read, if it has an attribute ``context_window`` that says so."""
    window = getattr(model, "context_window", None)
    return window if isinstance(window, int) and window > 0 else None


async def count_tokens(model: Model, text: str) -> int:
    """The tokens of a text, if the model has a method ``count_tokens``; otherwise 0."""
    count = getattr(model, "count_tokens", None)
    return 0 if count is None else int(await count(text))


def check_parts(model: Model, parts: Iterable[Part]) -> None:
    """Check that a model can take pictures, sounds and files, if it has a method ``check_parts``.

    Raises:
        UnsupportedPart: It cannot.
    """
    check = getattr(model, "check_parts", None)
    if check is not None:
        check(parts)


def refusal(model: Model, parts: Iterable[Part]) -> UnsupportedPart | None:
    """Why a model cannot take them; None if it can, or nothing is known."""
    try:
        check_parts(model, parts)
    except UnsupportedPart as error:
        return error
    return None


def check_provider_tools(model: Model, request: ModelRequest) -> None:
    """Check that a model can take the provider tools of a request, if it has a method ``check_provider_tools``.

    Raises:
        UnsupportedTool: It cannot.
    """
    check = getattr(model, "check_provider_tools", None)
    if check is not None and request.provider_tools:
        check(request)


def tool_refusal(model: Model, request: ModelRequest) -> UnsupportedTool | None:
    """Why a model cannot take them; None if it can, or nothing is known."""
    try:
        check_provider_tools(model, request)
    except UnsupportedTool as error:
        return error
    return None


def can_prepare(model: Model) -> bool:
    """Whether a model has a method ``prepare``, to load what it needs."""
    return getattr(model, "prepare", None) is not None


async def prepare_model(model: Model) -> None:
    """Have a model load what it needs, if it has a method ``prepare`` for that."""
    prepare = getattr(model, "prepare", None)
    if prepare is not None:
        await prepare()


async def close_model(model: Model) -> None:
    """Have a model close what it has opened, if it has a method ``aclose`` for that."""
    aclose = getattr(model, "aclose", None)
    if aclose is not None:
        await aclose()


async def release_model(model: Model) -> None:
    """Have a model close what it has open in this event loop, if it has a method ``release`` for that."""
    release = getattr(model, "release", None)
    if release is not None:
        await release()
