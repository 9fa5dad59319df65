"""A model, given as an object or by name."""

from ..errors import InvalidModel
from ._litellm import LiteLLM
from ._model import Model


def as_model(given: Model | str) -> Model:
    """The model itself; for a name such as ``"openai/gpt-5-mini"``, a `LiteLLM` with defaults.

    Nothing is imported and nothing asked yet: an agent may be defined with a name where litellm is not installed, and
    be run with another model.

    Raises:
        InvalidModel: It is neither, or the name is empty.
    """
    if isinstance(given, str):
        return LiteLLM(given)
    if not callable(getattr(given, "answer", None)):
        why = 'give a name such as "openai/gpt-5-mini", or an object with `async def answer(request)`'
        raise InvalidModel(f"model={given!r}", why)
    return given
