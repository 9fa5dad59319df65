"""What of each record is sealed: what users have made. Names, places, keys, labels, numbers and times are not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from .._blobs import sealed
from .._happening import Happening
from .._outside import StoredValue
from .._records import Closing, Commit, Forked, Frame, Item, Migrated, NewRun
from .._schedules import StoredSchedule
from .._sqlite._failure import readable
from .._waiting import Effect, NewWait
from ._keys import Keys

STATE: Final = b"state"  # of frames, and of values and elements beside them: the store puts these together
ITEM: Final = b"item"
WORD: Final = b"word"  # answers, signals and results of effects, which become one another
PROMPT: Final = b"prompt"
TEXT: Final = b"text"
TOLD: Final = b"told"  # what happens, for the history
SCHEDULE: Final = b"schedule"
NOBODY: Final = b""  # whose the elements of lists are, with which other runs go on


class Sealing:
    """Seals what goes into a store.

    Args:
        keys: The keys.
        owner: The run that it belongs to.
    """

    def __init__(self, keys: Keys, owner: str = "") -> None:
        self.keys = keys
        self._owner = owner_of(owner)

    def of(self, run_id: str) -> "Sealing":
        """What seals the values of a run: these are opened as values of this run only."""
        return Sealing(self.keys, run_id)

    def run(self, run: NewRun) -> NewRun:
        """A new run; for one as `of` it."""
        return replace(
            run,
            input=self.keys.seal_alike(input_of(run.workflow), run.input),
            root=self.frame(run.root),
            values=[self.value(value) for value in run.values],
            blobs=self.blobs(run.blobs),
            forked=None if run.forked is None else self.forked(run.forked),
            happened=self.happened(run.happened),
            schedule=None if run.schedule is None else self.schedule(run.schedule),
        )

    def forked(self, forked: Forked) -> Forked:
        """What a fork begins with."""
        return replace(
            forked,
            frames=[self.frame(frame) for frame in forked.frames],
            items=[self.item(item) for item in forked.items],
            effects=[self.effect(effect) for effect in forked.effects],
        )

    def happened(self, happened: Sequence[Happening]) -> Sequence[Happening]:
        """What has happened."""
        return [
            one._replace(
                error=None if one.error is None else self.text(one.error),
                detail=None if one.detail is None else self._json(TOLD, one.detail),
                value=None if one.value is None else self._json(TOLD, one.value),
            )
            for one in happened
        ]

    def schedule(self, schedule: StoredSchedule) -> StoredSchedule:
        """A schedule, which has the input of its runs."""
        owner = owner_of_schedule(schedule.key)
        error = None if schedule.error is None else self.keys.seal_text(TEXT, readable(schedule.error), owner=owner)
        return schedule._replace(
            definition=self.keys.seal_json(SCHEDULE, schedule.definition, owner=owner), error=error
        )

    def commit(self, commit: Commit) -> Commit:
        """A change of a run."""
        return commit._replace(
            frame=None if commit.frame is None else self.frame(commit.frame),
            values=[self.value(value) for value in commit.values],
            frozen=[self.item(item) for item in commit.frozen],
            outcomes=[self.item(item) for item in commit.outcomes],
            effects=[self.effect(effect) for effect in commit.effects],
            closing=None if commit.closing is None else self.closing(commit.closing),
            blobs=self.blobs(commit.blobs),
            happened=self.happened(commit.happened),
        )

    def migrated(self, migrated: Migrated) -> Migrated:
        """A run in another version."""
        return replace(
            migrated,
            frames=[self.frame(frame) for frame in migrated.frames],
            values=[self.value(value) for value in migrated.values],
            items=[self.item(item) for item in migrated.items],
        )

    def frame(self, frame: Frame) -> Frame:
        """A frame; what has rows of its own is not in it."""
        state = {key: self._json(STATE, data) for key, data in frame.state.items() if key not in frame.refs}
        return frame._replace(state=state)

    def value(self, value: StoredValue) -> StoredValue:
        """A value or element with a row of its own; other runs may go on with a list, so its elements are of none."""
        if value.idx is None:
            return value._replace(value=self._json(STATE, value.value))
        return value._replace(value=self.keys.seal_json(STATE, value.value, owner=NOBODY))

    def item(self, item: Item) -> Item:
        """An item of a fan-out."""
        return item._replace(
            input=self._json(ITEM, item.input),
            value=None if item.value is None else self._json(ITEM, item.value),
            error=None if item.error is None else self.text(item.error),
        )

    def closing(self, closing: Closing) -> Closing:
        """The end of a run."""
        if closing.error is None:
            return closing
        error = self.text(closing.error.replace("\x1e", " "))  # as the store would
        traceback = closing.traceback
        return replace(closing, error=error, traceback=None if traceback is None else self.text(traceback))

    def wait(self, wait: NewWait) -> NewWait:
        """A wait to be opened."""
        prompt = None if wait.prompt is None else self._json(PROMPT, wait.prompt)
        return replace(wait, prompt=prompt, happened=self.happened(wait.happened))

    def effect(self, effect: Effect) -> Effect:
        """What became of an effect."""
        return effect if effect.value is None else effect._replace(value=self.word(effect.value))

    def word(self, value: bytes) -> bytes:
        """An answer, a signal's value, or what an effect has returned."""
        return self._json(WORD, value)

    def text(self, text: str) -> str:
        """An error or another text about values."""
        return self.keys.seal_text(TEXT, readable(text), owner=self._owner)

    def blobs(self, blobs: Mapping[str, bytes | None]) -> Mapping[str, bytes | None]:
        """Bytes by their digests, which stay as they are."""
        return {
            digest: None if data is None else sealed(self.keys.seal(blob_of(digest), data))
            for digest, data in blobs.items()
        }

    def _json(self, kind: bytes, data: bytes) -> bytes:
        return self.keys.seal_json(kind, data, owner=self._owner)


def input_of(workflow: str) -> bytes:
    """The kind of what the runs of a workflow start with, which is compared as it is stored."""
    return b"input " + workflow.encode(errors="surrogateescape")


def blob_of(digest: str) -> bytes:
    """The kind of bytes of a digest."""
    return b"blob " + digest.encode(errors="surrogateescape")


def owner_of(run_id: str) -> bytes:
    """Whose the values of a run are."""
    return run_id.encode(errors="surrogateescape")


def owner_of_schedule(key: str) -> bytes:
    """Whose the values of a schedule are; no id of a run has a space."""
    return b"schedule " + owner_of(key)
