"""Signals that steps read without taking them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from stagepost.checkpoint import CheckpointStore, Codec, SentSignal

from .._bell import Bell
from ..errors import UnknownSignal

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Signal:
    """Something that somebody has sent to a run.

    Attributes:
        number: Its place among all signals of the run: what is sent later has a higher one.
        value: What it carries.
    """

    number: int
    value: Any


class SignalBox:
    """The signals of one run, as far as this process knows them: the store is asked only if there may be more.

    Args:
        run_id: The run.
        codecs: Those that its workflow receives, with what each carries.
        store: Where they are kept; None in memory, where there are none.
        is_new: Whether the run was begun by this process, so that there are none yet.
    """

    def __init__(
        self,
        run_id: str,
        codecs: Mapping[str, Codec[Any]],
        store: CheckpointStore | None = None,
        *,
        is_new: bool = False,
    ) -> None:
        self._run_id = run_id
        self._codecs = codecs
        self._store = store
        self._noticed = 0 if is_new else 1  # how often it was told that there may be more
        self._heeded = 0  # which of these times the store was asked about
        self._coming = 0
        self._come = Bell()
        self._reading: anyio.Lock | None = None  # made when somebody reads: most runs are sent nothing
        self._known: list[SentSignal] = []

    @contextmanager
    def coming(self) -> Iterator[None]:
        """One is being sent: whoever looks for signals meanwhile waits for it, lest the run end without it."""
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1
            self._come.ring()

    def notice(self) -> None:
        """One was sent."""
        self._noticed += 1

    @property
    def is_empty(self) -> bool:
        """Whether nothing was sent, as this process knows without asking."""
        return not (self._known or self._coming or (self._store is not None and self._heeded < self._noticed))

    async def find(self, name: str, after: int) -> Sequence[Signal]:
        """Those of a name with a number above one, in the order in which they were sent.

        Raises:
            UnknownSignal: The workflow receives no such signal.
        """
        if name not in self._codecs:
            raise UnknownSignal(self._run_id, name, tuple(self._codecs))
        while self._coming:
            await self._come.wait()
        if self._store is not None and self._heeded < self._noticed:
            await self._read(self._store)
        if not self._known:
            return ()
        load = self._codecs[name].load
        found = (sent for sent in self._known if sent.name == name and sent.number > after)
        return tuple(Signal(sent.number, load(sent.value)) for sent in found)

    async def _read(self, store: CheckpointStore) -> None:
        self._reading = self._reading or anyio.Lock()
        async with self._reading:
            noticed = self._noticed  # what is sent from now on is another time
            while self._heeded < noticed and (page := await self._page(store)):
                self._known += page
            self._heeded = noticed

    async def _page(self, store: CheckpointStore) -> Sequence[SentSignal]:
        return (await store.signals(self._run_id, after=self._last, limit=_PAGE)).items

    @property
    def _last(self) -> int:
        return self._known[-1].number if self._known else 0
