"""A model whose answers are kept for a while."""

from collections.abc import Callable, MutableMapping
from dataclasses import replace
from time import monotonic
from typing import Final

import anyio.lowlevel
from pydantic import TypeAdapter

from stagepost._dataclasses import dataclass
from stagepost.workflows.errors import ExtraMissing

from ..errors import InvalidModel
from ._around import Around
from ._masking import KeyMask
from ._messages import ToolMessage, Usage
from ._model import Model, ModelRequest, ModelResponse
from ._request_key import request_key
from ._tokens import Tokens

_HOUR: Final = 3600.0  # seconds
_MEGABYTES: Final = 100_000_000  # bytes
_KEY: Final = 64  # bytes of a key


@dataclass(frozen=True, slots=True)
class _Kept:
    response: ModelResponse
    size: int


class Cached(Around):
    """A model whose answers are kept: the same question of the same tenant is answered again without asking it.

    Questions are the same if messages, tools, the form of the answer and the settings are. An answer that is given
    again has used no tokens. Answers are in the memory of this process, the least used ones are dropped first. Not
    kept are answers to questions that hold results of tools, or that offer tools of the provider: these are data of
    that moment.

    Args:
        model: The model, or its name.
        tenant: Whose question it is: a text, or a function of the question that returns one, or None for an answer that
            is not kept. No tenant gets an answer of another.
        ttl: Seconds for which an answer is kept.
        max_bytes: The most that all answers take.
        with_data: Whether answers that are built on data are kept, too.
        clock: Returns seconds; for tests.

    Raises:
        InvalidModel: It is no model, or a limit is not positive.
        ExtraMissing: cachetools is not installed: ``pip install 'stagepost[assistant]'``.
    """

    def __init__(
        self,
        model: Model | str,
        *,
        tenant: str | Callable[[ModelRequest], str | None],
        ttl: float = _HOUR,
        max_bytes: int = _MEGABYTES,
        with_data: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        for name, limit in (("ttl", ttl), ("max_bytes", max_bytes)):
            if limit <= 0:
                raise InvalidModel("Cached", f"{name}={limit}: give more than 0")
        super().__init__([model])
        self._tenant = tenant
        self._with_data = with_data
        self._answers = _kept_for(ttl, max_bytes, clock)
        self._size = TypeAdapter(ModelResponse)

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The kept answer, or the model's."""
        tenant = self._tenant if isinstance(self._tenant, str) else self._tenant(request)
        if tenant is None or (self._is_built_on_data(request) and not self._with_data):
            return await self._inside[0].answer(request)
        key = request_key(request, KeyMask(self.secrets).known, prefix=f"{len(tenant)}:{tenant}\n")
        kept = self._answers.get(key)
        if kept is None:
            response = await self._inside[0].answer(request)
            self._keep(key, response)
            return response
        await anyio.lowlevel.checkpoint()  # like any real model, let others run
        Tokens(request).add_whole(kept.response)
        return replace(kept.response, usage=Usage(cost=0.0))

    @staticmethod
    def _is_built_on_data(request: ModelRequest) -> bool:
        return bool(request.provider_tools) or any(isinstance(each, ToolMessage) for each in request.messages)

    def _keep(self, key: str, response: ModelResponse) -> None:
        if not response.is_final:
            return
        size = len(self._size.dump_json(response)) + _KEY
        try:
            self._answers[key] = _Kept(response, size)
        except ValueError:
            return  # larger than all that may be kept


def _kept_for(ttl: float, max_bytes: int, clock: Callable[[], float]) -> MutableMapping[str, _Kept]:
    try:
        from cachetools import TTLCache  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        if error.name != "cachetools":
            raise
        raise ExtraMissing("Cached", "cachetools", "assistant") from error
    return TTLCache(max_bytes, ttl, timer=clock, getsizeof=lambda kept: kept.size)
