"""Several models, one for another."""

from collections.abc import Iterable, Sequence

from stagepost.hub import get_logger

from ..errors import AllModelsFailed, InfrastructureError, InvalidModel
from ._around import Around, refusal
from ._messages import asked_parts
from ._model import Model, ModelRequest, ModelResponse


class Fallback(Around):
    """Asks the first model, and the next one when that cannot be asked just now.

    Only an `InfrastructureError` is a reason to go on: what one provider refuses (the request, the key, the content) is
    told at once. A model that cannot take a picture, a sound or a file of the request is left out. Each model's own
    retries come first; ``retries=Retries(attempts=1)`` makes the change quick. Every request begins with the first
    model. What only one provider can read of earlier answers, such as signed thinking, is told to no other.

    Args:
        models: Models or their names, the preferred one first.

    Raises:
        InvalidModel: There is none, or one is no model.
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
        """The models that can take all parts of a request.

        Raises:
            UnsupportedPart: There is none.
        """
        parts = tuple(asked_parts(request.messages))
        if not parts:
            return self._inside
        await self.prepare()
        self.check_parts(parts)
        return [model for model in self._inside if refusal(model, parts) is None]
