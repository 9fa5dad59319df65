"""The waits and effects of one run, as far as this process knows them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from stagepost.checkpoint import Effect, EffectStatus, NewWait, Snapshot, StoredWait, WaitKind, WaitStatus

from ._signals import Parks


class Records(Protocol):
    """Where waits and effects are saved."""

    async def wait(self, wait: NewWait) -> StoredWait:
        """Open a wait, or get the one that a signal has answered already."""
        ...

    async def opened(self, wait: StoredWait) -> None:
        """A wait was opened, and everybody here knows."""
        ...

    async def note(self, effect: Effect, blobs: Mapping[str, bytes | None] | None = None) -> None:
        """Save what became of an effect, with bytes that it has brought."""
        ...

    async def effects(self) -> Iterable[Effect]:
        """What is stored of effects."""
        ...


class Ledger:
    """Waits by their place, effects by their place and key.

    Args:
        records: Where they are saved; None for a run in memory, which cannot wait.

    Attributes:
        waits: All waits that are known, open or ended, by their place.
        doubts: What steps have to wait for because an effect of theirs is in doubt, by their place.
    """

    def __init__(self, records: Records | None) -> None:
        self._records = records
        self.waits: dict[str, StoredWait] = {}
        self._effects: dict[tuple[str, str], Effect] = {}
        self.doubts: dict[str, Parks] = {}
        self._under_way: set[tuple[str, str]] = set()
        self._replaced: dict[str, StoredWait] = {}
        self._listed: Sequence[Effect] | None = None

    @property
    def is_durable(self) -> bool:
        """Whether what is written here is saved."""
        return self._records is not None

    def restore(self, snapshot: Snapshot) -> None:
        """Take up what is stored."""
        self.waits = {wait.place: wait for wait in snapshot.waits}
        self._effects = {(effect.place, effect.key): effect for effect in snapshot.effects}
        self._listed = None

    # as they are stored

    def all_waits(self) -> Sequence[StoredWait]:
        """All waits, in the order of their places."""
        if not self.waits and not self._replaced:
            return ()
        known = {**self._replaced, **self.waits}
        return [known[place] for place in sorted(known)]

    def all_effects(self) -> Sequence[Effect]:
        """All effects, in the order of their places and keys."""
        if self._listed is None:
            self._listed = tuple([effect for _, effect in sorted(self._effects.items())])
        return self._listed

    # waits

    def is_waiting(self, place: str) -> bool:
        """Whether the step there has an open wait."""
        wait = self.waits.get(place)
        return wait is not None and wait.status is WaitStatus.OPEN

    def ended(self, place: str) -> StoredWait | None:
        """The wait of the step there, if it has ended."""
        wait = self.waits.get(place)
        return None if wait is None or wait.status is WaitStatus.OPEN else wait

    @property
    def open_waits(self) -> tuple[StoredWait, ...]:
        """All that are open, in the order of their places."""
        found = [wait for wait in self.waits.values() if wait.status is WaitStatus.OPEN]
        return tuple(sorted(found, key=lambda wait: wait.place))

    async def open(self, place: str, request: Parks) -> None:
        """Save that the step there waits.

        Raises:
            CheckpointError: It could not be saved.
        """
        assert self._records is not None  # noqa: S101  # `perform` asks beforehand
        before = self.waits.pop(place, None)
        if before is not None:
            self._replaced[place] = before
        try:
            wait = await self._records.wait(NewWait(place, request.kind, request.name, request.prompt, request.due_at))
        finally:
            self._replaced.pop(place, None)
        known = self.waits.get(place)
        if known is None or known.opened_at < wait.opened_at:  # its end may have been heard of before this returned
            self.waits[place] = wait
        await self._records.opened(wait)

    def hear(self, waits: Iterable[StoredWait]) -> tuple[str, ...]:
        """Take note of waits as they are stored now; returns the places of those that have ended since."""
        ended = [wait for wait in waits if wait.status is not WaitStatus.OPEN and self._is_news(wait)]
        self.waits.update({wait.place: wait for wait in ended})
        return tuple(wait.place for wait in ended)

    def _is_news(self, wait: StoredWait) -> bool:
        """Whether the end of a wait is not known yet, and no later wait was opened at its place."""
        known = self.waits.get(wait.place)
        return known is None or (known.status is WaitStatus.OPEN and known.opened_at <= wait.opened_at)

    def forget_below(self, prefix: str) -> None:
        """Nobody waits any more at places that begin so; what has ended there still counts as heard."""
        open_below = [wait.place for wait in self.open_waits if wait.place.startswith(prefix)]
        for place in open_below:
            del self.waits[place]
        for place in [place for place in self.doubts if place.startswith(prefix)]:
            del self.doubts[place]

    # effects

    def effect(self, place: str, key: str) -> Effect | None:
        """What is known of an effect."""
        return self._effects.get((place, key))

    async def note(self, effect: Effect, blobs: Mapping[str, bytes | None] | None = None) -> None:
        """Save what became of an effect, with bytes that it has brought.

        Raises:
            CheckpointError: It could not be saved.
        """
        if self._records is not None:
            await self._records.note(effect, blobs)
        if effect.status is EffectStatus.UNDONE:
            self._effects.pop((effect.place, effect.key), None)
        else:
            self._effects[effect.place, effect.key] = effect
        self._listed = None

    async def first(self, place: str, key: str) -> bool:
        """Save that the step there gets to a key for the first time; False if it did before.

        Raises:
            CheckpointError: It could not be saved.
        """
        if (place, key) in self._effects:
            return False
        await self.note(Effect(place, key, EffectStatus.INTENT))
        return True

    async def recall(self, place: str) -> None:
        """Read again what is stored of effects, if the step there has waited for word of one: somebody has changed it.

        Not a matter of `hear`, whose news may be older than what the step has begun since.
        """
        wait = self.ended(place)
        if self._records is not None and wait is not None and wait.kind is WaitKind.EFFECT:
            kept = {key: effect for key, effect in self._effects.items() if effect.place != place}
            told = {(place, effect.key): effect for effect in await self._records.effects() if effect.place == place}
            self._effects, self._listed = {**kept, **told}, None

    def begin(self, place: str, key: str) -> bool:
        """Note that an effect is under way; False if it is so already."""
        fresh = (place, key) not in self._under_way
        self._under_way.add((place, key))
        return fresh

    def finish(self, place: str, key: str) -> None:
        """It no longer is."""
        self._under_way.discard((place, key))

    def doubt(self, place: str, request: Parks) -> None:
        """Nobody knows whether an effect of the step there has happened, so its run must wait for word."""
        self.doubts[place] = request

    def take_doubt(self, place: str) -> Parks | None:
        """What the step there has to wait for because an effect of it is in doubt, once."""
        return self.doubts.pop(place, None)
