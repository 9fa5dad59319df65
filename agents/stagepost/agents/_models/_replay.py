"""Replay of recorded answers from a file."""

from collections.abc import Callable, Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Self

from anyio import to_thread
from anyio.lowlevel import checkpoint
from pydantic import BaseModel, Field, ValidationError

from ..errors import InvalidModel, RecordingMissing
from ._around import Around
from ._masking import KeyMask, without_secret_content
from ._messages import ProviderContent, ToolCall, Usage
from ._model import Model, ModelRequest, ModelResponse
from ._request_key import request_key
from ._tokens import Tokens


class _Recording(BaseModel):
    """One line of the file."""

    key: str
    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    thinking: str = Field(default="", exclude_if=lambda value: not value)
    provider: tuple[ProviderContent, ...] = Field(default=(), exclude_if=lambda value: not value)
    is_final: bool = Field(default=True, exclude_if=bool)

    @classmethod
    def of(cls, key: str, response: ModelResponse, mask: Callable[[str], str]) -> Self:
        """What is to be written.

        Args:
            key: Key of the request.
            response: The answer.
            mask: What hides the secrets: what belongs to a provider is left out where it shows one, since its provider
                would not know it with stars in it.
        """
        return cls(
            key=key,
            text=response.text,
            calls=tuple(response.calls),
            usage=response.usage,
            thinking=response.thinking,
            provider=without_secret_content(response.provider, mask),
            is_final=response.is_final,
        )

    @property
    def response(self) -> ModelResponse:
        return ModelResponse(self.text, self.calls, self.usage, self.thinking, self.provider, self.is_final)


class ReplayModel(Around):
    """Replays answers from a file: for tests with a real model's answers, without asking it each time.

    A request is identified by its content: messages, tools, the form of the answer, and settings that affect an answer.
    The file has a key derived from that and the answer, one line of JSON each; nothing of the request itself can be
    read from it. Commit it next to the test.

    Args:
        path: The file.
        record: The model, or its name, that answers requests which are not in the file; its answer is added to the
            file. Without it such a request is an error.
        secrets: Texts that the file must not show: they are masked, also for the key.

    Raises:
        InvalidModel: `record` is not a model.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        record: Model | str | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self._path = Path(path)
        super().__init__([] if record is None else [record])
        self._mask = KeyMask(secrets)
        self._known: dict[str, ModelResponse] = {}
        self._loaded = False

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The recorded answer.

        Raises:
            RecordingMissing: There is none, and no model to ask.
            InvalidModel: The file contains something else.
        """
        await checkpoint()  # like any real model, let others run
        if not self._loaded:
            self._known = {**await to_thread.run_sync(self._read), **self._known}  # another task may have been faster
            self._loaded = True
        key = request_key(request, self._mask.known)
        if key not in self._known:
            return await self._ask(request, key)
        Tokens(request).add_whole(self._known[key])
        return self._known[key]

    async def _ask(self, request: ModelRequest, key: str) -> ModelResponse:
        if not self._inside:
            last = request.messages[-1].text if request.messages else ""
            raise RecordingMissing(fspath(self._path), key, last)
        response = await self._inside[0].answer(request)
        if key not in self._known:  # it was asked twice at once: the first answer stands
            line = self._mask.known(_Recording.of(key, response, self._mask.known).model_dump_json())
            self._known[key] = _Recording.model_validate_json(line).response  # what another process will read
            await to_thread.run_sync(self._append, line)
        return self._known[key]

    def _read(self) -> dict[str, ModelResponse]:
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        return {made.key: made.response for made in map(self._parse, range(1, len(lines) + 1), lines)}

    def _parse(self, number: int, line: str) -> _Recording:
        try:
            return _Recording.model_validate_json(line)
        except ValidationError as error:
            why = f"line {number} is not a recorded answer: remove it, and have it recorded again with record="
            raise InvalidModel(f"ReplayModel({fspath(self._path)!r})", why) from error

    def _append(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
