"""Opening what `Sealing` has sealed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from pydantic_core import from_json, to_json

from .._blobs import unsealed
from .._happening import HappeningKind
from .._happenings import ChildRun, Happened, Happenings
from .._records import Frame, Item
from .._schedules import StoredSchedule
from .._snapshots import RunInfo, Snapshot, Version
from .._waiting import Effect, Latest, OpenWait, SentSignal, StoredWait, WaitKind
from ..errors import CannotDecrypt, CorruptBlob, CorruptRun, CorruptSchedule
from ._keys import Changed, Keys
from ._sealing import (
    ITEM,
    NOBODY,
    PROMPT,
    SCHEDULE,
    STATE,
    TEXT,
    TOLD,
    WORD,
    blob_of,
    input_of,
    owner_of,
    owner_of_schedule,
)

T = TypeVar("T")
P = ParamSpec("P")

_SAID: Final = frozenset({WaitKind.ANSWER, WaitKind.SIGNAL, WaitKind.EFFECT})  # waits that are ended by a word


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
        return self._checked(run.run_id, _Values.info, run)

    def snapshot(self, snapshot: Snapshot) -> Snapshot:
        """All that is stored of a run; raises as `info` does."""
        return self._checked(snapshot.run.run_id, _Values.snapshot, snapshot)

    def version(self, run_id: str, version: Version) -> Version:
        """A frame as it was; raises as `info` does."""
        return replace(version, frame=self._checked(run_id, _Values.frame, version.frame))

    def open_wait(self, wait: OpenWait) -> OpenWait:
        """An open wait; raises as `info` does."""
        opened = self._checked(wait.run_id, _Values.wait, wait.wait)
        return replace(wait, wait=opened, blocked=self._checked(wait.run_id, _Values.text, wait.blocked))

    def wait(self, run_id: str, wait: StoredWait) -> StoredWait:
        """A wait; raises as `info` does."""
        return self._checked(run_id, _Values.wait, wait)

    def latest(self, run_id: str, latest: Latest) -> Latest:
        """Waits that have ended; raises as `info` does."""
        return latest._replace(waits=[self.wait(run_id, wait) for wait in latest.waits])

    def signal(self, run_id: str, signal: SentSignal) -> SentSignal:
        """A signal; raises as `info` does."""
        return replace(signal, value=self._checked(run_id, _Values.json, WORD, signal.value))

    def happenings(self, found: Happenings) -> Happenings:
        """What has happened to a run; raises as `info` does."""
        return self._checked(found.run.run_id, _Values.happenings, found)

    def schedule(self, schedule: StoredSchedule) -> StoredSchedule:
        """A schedule.

        Raises:
            CannotDecrypt: A key is missing.
            CorruptSchedule: It was changed since it was sealed.
        """
        try:
            opened = _Values(self.keys, owner_of_schedule(schedule.key))
            definition = opened.json(SCHEDULE, schedule.definition)
            return schedule._replace(definition=definition, error=opened.text(schedule.error))
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
        if is_list:
            return self._checked(run_id, _Values.list, data)
        return self._checked(run_id, _Values.json, STATE, data)

    def element(self, run_id: str, data: bytes) -> bytes:
        """An element of a list; raises as `info` does."""
        return self._checked(run_id, _Values.element, data)

    def blob(self, digest: str, data: bytes) -> bytes:
        """Bytes.

        Raises:
            CannotDecrypt: A key is missing.
            CorruptBlob: They were changed since they were sealed.
        """
        body = unsealed(data)
        try:
            return self.keys.as_is(data) if body is None else self.keys.open(blob_of(digest), body)
        except Changed as error:
            raise CorruptBlob(digest, (), "are not what was stored") from error

    def _checked(
        self, run_id: str, function: Callable[Concatenate["_Values", P], T], *values: P.args, **options: P.kwargs
    ) -> T:
        try:
            return function(_Values(self.keys, owner_of(run_id)), *values, **options)
        except CannotDecrypt as error:
            raise error.of(run_id) from None
        except (Changed, ValueError) as error:
            raise CorruptRun(run_id, "a value of it was changed since it was encrypted") from error


class _Values(NamedTuple):
    """The values of a run.

    Attributes:
        keys: The keys.
        owner: Whose they are.
    """

    keys: Keys
    owner: bytes

    def info(self, run: RunInfo) -> RunInfo:
        return run._replace(
            input=self.keys.open_json(input_of(run.workflow), run.input, owner=NOBODY),
            error=self.text(run.error),
            traceback=self.text(run.traceback),
            blocked=self.text(run.blocked),
        )

    def snapshot(self, snapshot: Snapshot) -> Snapshot:
        return snapshot._replace(
            run=self.info(snapshot.run),
            frames={path: self.frame(frame) for path, frame in snapshot.frames.items()},
            items=tuple(map(self.item, snapshot.items)),
            waits=tuple(map(self.wait, snapshot.waits)),
            effects=tuple(map(self.effect, snapshot.effects)),
        )

    def happenings(self, found: Happenings) -> Happenings:
        return found._replace(
            run=self.info(found.run),
            items=tuple(map(self.happened, found.items)),
            children=tuple(map(self.child, found.children)),
        )

    def child(self, child: ChildRun) -> ChildRun:
        return child._replace(error=_Values(self.keys, owner_of(child.run_id)).text(child.error))

    def happened(self, one: Happened) -> Happened:
        is_wait = one.kind is HappeningKind.WAIT  # the store itself tells of waits, by what is stored of them
        kind = (PROMPT if one.outcome == "open" else WORD) if is_wait else TOLD
        is_said = not is_wait or one.outcome == "open" or _kind_of(one) in _SAID
        return one._replace(
            error=self.text(one.error),
            detail=one.detail if is_wait or one.detail is None else self.json(TOLD, one.detail),
            value=one.value if one.value is None or not is_said else self.json(kind, one.value),
            frame=None if one.frame is None else self.frame(one.frame),
            before=None if one.before is None else self.frame(one.before),
        )

    def frame(self, frame: Frame) -> Frame:
        lists = {key for key, ref in frame.refs.items() if ref.length is not None}
        opened = {key: self.list(data) if key in lists else self.json(STATE, data) for key, data in frame.state.items()}
        return frame._replace(state=opened)

    def list(self, data: bytes) -> bytes:
        return b"[" + b",".join(self.element(to_json(each)) for each in from_json(data)) + b"]"

    def element(self, data: bytes) -> bytes:
        return self.keys.open_json(STATE, data, owner=NOBODY)

    def item(self, item: Item) -> Item:
        return item._replace(
            input=self.json(ITEM, item.input),
            value=None if item.value is None else self.json(ITEM, item.value),
            error=self.text(item.error),
        )

    def wait(self, wait: StoredWait) -> StoredWait:
        return replace(
            wait,
            prompt=None if wait.prompt is None else self.json(PROMPT, wait.prompt),
            value=wait.value if wait.value is None or wait.kind not in _SAID else self.json(WORD, wait.value),
            refused=self.text(wait.refused),
        )

    def effect(self, effect: Effect) -> Effect:
        return effect if effect.value is None else effect._replace(value=self.json(WORD, effect.value))

    def json(self, kind: bytes, data: bytes) -> bytes:
        return self.keys.open_json(kind, data, owner=self.owner)

    def text(self, text: str | None) -> str | None:
        return None if text is None else self.keys.open_text(TEXT, text, owner=self.owner)


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
