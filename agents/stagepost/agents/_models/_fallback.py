"""Several models, one for another."""

from collections.abc import Iterable

from stagepost.hub import get_logger

from ..errors import AllModelsFailed, InfrastructureError, InvalidModel
from ._around import Around
from ._model import Model, ModelRequest, ModelResponse


class Fallback(Around):
    """Asks the first model, and the next one when that cannot be asked just now.

    Only an `InfrastructureError` is a reason to go on: what one provider refuses (the request, the key, the content) is
    told at once. Each model's own retries come first; ``retries=Retries(attempts=1)`` makes the change quick. Every
    request begins with the first model.

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
        for model in self._inside:
            try:
                return await model.answer(request)
            except InfrastructureError as error:
                get_logger("agents").warning("model_failed_over", model=error.model, error=type(error).__name__)
                errors.append(error)
        raise AllModelsFailed(errors)
