"""What of each record is sealed: what users have made. Names, places, keys, labels, numbers and times are not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from pydantic_core import from_json, to_json

from .._blobs import sealed, unsealed
from .._happening import Happening, HappeningKind
from .._happenings import Happened, Happenings
from .._outside import StoredValue
from .._records import Closing, Commit, Forked, Frame, Item, Migrated, NewRun
from .._schedules import StoredSchedule
from .._snapshots import RunInfo, Snapshot, Version
from .._sqlite._failure import readable
from .._waiting import Effect, Latest, NewWait, OpenWait, SentSignal, StoredWait, WaitKind
from ..errors import CannotDecrypt, CorruptBlob, CorruptRun, CorruptSchedule
from ._keys import Changed, Keys

T = TypeVar("T")

STATE: Final = b"state"  # of frames, and of values and elements beside them: the store puts these together
ITEM: Final = b"item"
WORD: Final = b"word"  # answers, signals and results of effects, which become one another
PROMPT: Final = b"prompt"
TEXT: Final = b"text"
TOLD: Final = b"told"  # what happens, for the history
SCHEDULE: Final = b"schedule"
_SAID: Final = frozenset({WaitKind.ANSWER, WaitKind.SIGNAL, WaitKind.EFFECT})  # waits that are ended by a word


class Sealing:
    """Seals what goes into a store, and opens what comes from it.

    Args:
        keys: The keys.
    """

    def __init__(self, keys: Keys) -> None:
        self.keys = keys

    # what goes in

    def run(self, run: NewRun) -> NewRun:
        """A new run."""
        return replace(
            run,
            input=self.keys.seal_json(_input(run.workflow), run.input, alike=True),
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
                detail=None if one.detail is None else self.keys.seal_json(TOLD, one.detail),
                value=None if one.value is None else self.keys.seal_json(TOLD, one.value),
            )
            for one in happened
        ]

    def schedule(self, schedule: StoredSchedule) -> StoredSchedule:
        """A schedule, which has the input of its runs."""
        error = None if schedule.error is None else self.text(schedule.error)
        return schedule._replace(definition=self.keys.seal_json(SCHEDULE, schedule.definition), error=error)

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
        state = {key: self.keys.seal_json(STATE, data) for key, data in frame.state.items() if key not in frame.refs}
        return frame._replace(state=state)

    def value(self, value: StoredValue) -> StoredValue:
        """A value or element with a row of its own."""
        return value._replace(value=self.keys.seal_json(STATE, value.value))

    def item(self, item: Item) -> Item:
        """An item of a fan-out."""
        return item._replace(
            input=self.keys.seal_json(ITEM, item.input),
            value=None if item.value is None else self.keys.seal_json(ITEM, item.value),
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
        prompt = None if wait.prompt is None else self.keys.seal_json(PROMPT, wait.prompt)
        return replace(wait, prompt=prompt, happened=self.happened(wait.happened))

    def effect(self, effect: Effect) -> Effect:
        """What became of an effect."""
        return effect if effect.value is None else effect._replace(value=self.word(effect.value))

    def word(self, value: bytes) -> bytes:
        """An answer, a signal's value, or what an effect has returned."""
        return self.keys.seal_json(WORD, value)

    def text(self, text: str) -> str:
        """An error or another text about values."""
        return self.keys.seal_text(TEXT, readable(text))

    def blobs(self, blobs: Mapping[str, bytes | None]) -> Mapping[str, bytes | None]:
        """Bytes by their digests, which stay as they are."""
        return {
            digest: None if data is None else sealed(self.keys.seal(_blob(digest), data))
            for digest, data in blobs.items()
        }


class Opening:
    """Opens what comes from a store.

    Args:
        keys: The keys.
    """

    def __init__(self, keys: Keys) -> None:
        self.keys = keys

    def info(self, run: RunInfo) -> RunInfo:
        """What is known of a run.

        Raises:
            CannotDecrypt: A key is missing.
            CorruptRun: Something was changed since it was sealed.
        """
        return self._checked(run.run_id, self._info, run)

    def snapshot(self, snapshot: Snapshot) -> Snapshot:
        """All that is stored of a run; raises as `info` does."""
        return self._checked(snapshot.run.run_id, self._snapshot, snapshot)

    def version(self, run_id: str, version: Version) -> Version:
        """A frame as it was; raises as `info` does."""
        return replace(version, frame=self._checked(run_id, self._frame, version.frame))

    def open_wait(self, wait: OpenWait) -> OpenWait:
        """An open wait; raises as `info` does."""
        opened = self._checked(wait.run_id, self._wait, wait.wait)
        return replace(wait, wait=opened, blocked=self._checked(wait.run_id, self._text, wait.blocked))

    def wait(self, run_id: str, wait: StoredWait) -> StoredWait:
        """A wait; raises as `info` does."""
        return self._checked(run_id, self._wait, wait)

    def latest(self, run_id: str, latest: Latest) -> Latest:
        """Waits that have ended; raises as `info` does."""
        return latest._replace(waits=[self.wait(run_id, wait) for wait in latest.waits])

    def signal(self, run_id: str, signal: SentSignal) -> SentSignal:
        """A signal; raises as `info` does."""
        return replace(signal, value=self._checked(run_id, self._json, WORD, signal.value))

    def happenings(self, found: Happenings) -> Happenings:
        """What has happened to a run; raises as `info` does."""
        return self._checked(found.run.run_id, self._happenings, found)

    def schedule(self, schedule: StoredSchedule) -> StoredSchedule:
        """A schedule.

        Raises:
            CannotDecrypt: A key is missing.
            CorruptSchedule: It was changed since it was sealed.
        """
        try:
            definition = self._json(SCHEDULE, schedule.definition)
            return schedule._replace(definition=definition, error=self._text(schedule.error))
        except (Changed, ValueError) as error:
            raise CorruptSchedule(schedule.key, "it was changed since it was encrypted") from error

    def schedules(self, found: Sequence[StoredSchedule]) -> tuple[list[StoredSchedule], list[CorruptSchedule]]:
        """Schedules, and those that cannot be opened: others go on."""
        opened, damaged = list[StoredSchedule](), list[CorruptSchedule]()
        for schedule in found:
            try:
                opened.append(self.schedule(schedule))
            except CannotDecrypt as error:
                damaged.append(CorruptSchedule(schedule.key, error.reason))
            except CorruptSchedule as error:
                damaged.append(error)
        return opened, damaged

    def outside(self, run_id: str, data: bytes, *, is_list: bool) -> bytes:
        """A value with rows of its own; raises as `info` does."""
        return self._checked(run_id, self._list, data) if is_list else self.element(run_id, data)

    def element(self, run_id: str, data: bytes) -> bytes:
        """An element of a list; raises as `info` does."""
        return self._checked(run_id, self._json, STATE, data)

    def blob(self, digest: str, data: bytes) -> bytes:
        """Bytes.

        Raises:
            CannotDecrypt: A key is missing.
            CorruptBlob: They were changed since they were sealed.
        """
        body = unsealed(data)
        try:
            return self.keys.as_is(data) if body is None else self.keys.open(_blob(digest), body)
        except Changed as error:
            raise CorruptBlob(digest, (), "are not what was stored") from error

    def _checked(self, run_id: str, function: Callable[..., T], *values: object) -> T:
        try:
            return function(*values)
        except CannotDecrypt as error:
            raise error.of(run_id) from None
        except (Changed, ValueError) as error:
            raise CorruptRun(run_id, "a value of it was changed since it was encrypted") from error

    def _info(self, run: RunInfo) -> RunInfo:
        return run._replace(
            input=self.keys.open_json(_input(run.workflow), run.input),
            error=self._text(run.error),
            traceback=self._text(run.traceback),
            blocked=self._text(run.blocked),
        )

    def _snapshot(self, snapshot: Snapshot) -> Snapshot:
        return snapshot._replace(
            run=self._info(snapshot.run),
            frames={path: self._frame(frame) for path, frame in snapshot.frames.items()},
            items=tuple(map(self._item, snapshot.items)),
            waits=tuple(map(self._wait, snapshot.waits)),
            effects=tuple(map(self._effect, snapshot.effects)),
        )

    def _happenings(self, found: Happenings) -> Happenings:
        return found._replace(
            run=self._info(found.run),
            items=tuple(map(self._happened, found.items)),
            children=tuple(child._replace(error=self._text(child.error)) for child in found.children),
        )

    def _happened(self, one: Happened) -> Happened:
        is_wait = one.kind is HappeningKind.WAIT  # the store itself tells of waits, by what is stored of them
        kind = (PROMPT if one.outcome == "open" else WORD) if is_wait else TOLD
        is_said = not is_wait or one.outcome == "open" or _kind_of(one) in _SAID
        return one._replace(
            error=self._text(one.error),
            detail=one.detail if is_wait or one.detail is None else self._json(TOLD, one.detail),
            value=one.value if one.value is None or not is_said else self._json(kind, one.value),
            frame=None if one.frame is None else self._frame(one.frame),
            before=None if one.before is None else self._frame(one.before),
        )

    def _frame(self, frame: Frame) -> Frame:
        lists = {key for key, ref in frame.refs.items() if ref.length is not None}
        opened = {
            key: self._list(data) if key in lists else self._json(STATE, data) for key, data in frame.state.items()
        }
        return frame._replace(state=opened)

    def _list(self, data: bytes) -> bytes:
        return b"[" + b",".join(self._json(STATE, to_json(element)) for element in from_json(data)) + b"]"

    def _item(self, item: Item) -> Item:
        return item._replace(
            input=self._json(ITEM, item.input),
            value=None if item.value is None else self._json(ITEM, item.value),
            error=self._text(item.error),
        )

    def _wait(self, wait: StoredWait) -> StoredWait:
        return replace(
            wait,
            prompt=None if wait.prompt is None else self._json(PROMPT, wait.prompt),
            value=wait.value if wait.value is None or wait.kind not in _SAID else self._json(WORD, wait.value),
            refused=self._text(wait.refused),
        )

    def _effect(self, effect: Effect) -> Effect:
        return effect if effect.value is None else effect._replace(value=self._json(WORD, effect.value))

    def _json(self, kind: bytes, data: bytes) -> bytes:
        return self.keys.open_json(kind, data)

    def _text(self, text: str | None) -> str | None:
        return None if text is None else self.keys.open_text(TEXT, text)


def opened_all(open_one: Callable[[T], T], values: Sequence[T]) -> tuple[list[T], list[CorruptRun | CannotDecrypt]]:
    """Values of a page, and those of them that cannot be opened."""
    opened, damaged = list[T](), list[CorruptRun | CannotDecrypt]()
    for value in values:
        try:
            opened.append(open_one(value))
        except (CorruptRun, CannotDecrypt) as error:
            damaged.append(error)
    return opened, damaged


def _kind_of(wait: Happened) -> WaitKind | None:
    return None if wait.detail is None else WaitKind(from_json(wait.detail)["kind"])


def _input(workflow: str) -> bytes:
    return b"input " + workflow.encode(errors="surrogateescape")


def _blob(digest: str) -> bytes:
    return b"blob " + digest.encode(errors="surrogateescape")
