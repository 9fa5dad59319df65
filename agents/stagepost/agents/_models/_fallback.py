"""Models as fallbacks for each other."""

from collections.abc import Iterable, Sequence

from stagepost.hub import get_logger

from ..errors import AllModelsFailed, InfrastructureError, InvalidModel
from ._around import Around, refusal, tool_refusal
from ._messages import asked_parts
from ._model import Model, ModelRequest, ModelResponse


class Fallback(Around):
    """Asks the first model, and the next one if the first is unavailable.

    Only an `InfrastructureError` leads to the next model: what one provider refuses (the request, the key, the content)
    is raised at once. A model that cannot take a picture, a sound, a file or a provider tool of the request is skipped.
    Each model's own
    retries come first; ``retries=Retries(attempts=1)`` makes the switch quick. Every request starts with the first
    model. Parts of earlier answers that only one provider can read, such as signed thinking, go to no other.

    Args:
        models: Models or their names, the preferred one first.

    Raises:
        InvalidModel: There is none, or one is not a model.
    """

    def __init__(self, models: Iterable[Model | str]) -> None:
        super().__init__(models)
        if not self._inside:
            raise InvalidModel("Fallback", "it has no models: give at least one")

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The answer of the first model that has one.

        Raises:
            AllModelsFailed: None has.
            ModelError: A model refuses.
        """
        errors: list[InfrastructureError] = []
        for model in await self._takers(request):
            try:
                return await model.answer(request)
            except InfrastructureError as error:
                get_logger("agents").warning("model_failed_over", model=error.model, error=type(error).__name__)
                errors.append(error)
        raise AllModelsFailed(errors)

    async def _takers(self, request: ModelRequest) -> Sequence[Model]:
        """The models that can take all parts and provider tools of a request.

        Raises:
            UnsupportedPart: There is none that takes the parts.
            UnsupportedTool: There is none that takes the tools.
        """
        parts = tuple(asked_parts(request.messages))
        if not parts and not request.provider_tools:
            return self._inside
        await self.prepare()
        self.check_parts(parts)
        self.check_provider_tools(request)
        takers = [model for model in self._inside if refusal(model, parts) is None]
        return [model for model in takers if tool_refusal(model, request) is None]
