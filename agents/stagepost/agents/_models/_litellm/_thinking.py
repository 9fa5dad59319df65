"""Blocks of signed thinking, put together from what a stream brings."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

Json = dict[str, Any]

_HIDDEN: Final = "redacted_thinking"


class Blocks:
    """Blocks in the order in which they came.

    A stream brings a block in pieces without a number or an end: a signature ends one, and so does anything else that
    comes. What has no signature then is of no use to the provider, who refuses it.
    """

    def __init__(self) -> None:
        self._closed: list[Json] = []
        self._open: Json | None = None

    def add(self, pieces: Sequence[Mapping[str, Any]]) -> None:
        """Take in whole blocks, or pieces of them."""
        for piece in pieces:
            if piece.get("type") == _HIDDEN:
                self.close()
                self._closed.append(dict(piece))
            else:
                self._add(piece)

    def close(self) -> None:
        """Something else has come."""
        if self._open is not None and self._open.get("signature"):
            self._closed.append(self._open)
        self._open = None

    def all(self) -> Sequence[Json]:
        """All that are whole."""
        self.close()
        return tuple(self._closed)

    def _add(self, piece: Mapping[str, Any]) -> None:
        block = self._open
        if block is None:
            block = self._open = {"type": "thinking", "thinking": "", "signature": ""}
        known = {"thinking": block["thinking"] + (piece.get("thinking") or "")}
        block.update({**{key: value for key, value in piece.items() if value is not None}, **known})
        if block["signature"]:
            self.close()
