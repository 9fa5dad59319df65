"""Stores that keep what a reader could have read after each of their changes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from stagepost.agents._loop._loop import AgentLoop
from stagepost.agents._stream._part import PartKey, StreamPart
from stagepost.agents._stream._read import read
from stagepost.checkpoint import MemoryStore, Page, RunInfo, RunNotFound, Snapshot, SqliteStore
from stagepost.workflows import Runner

ALL = 100_000
MANY = 300  # readers that are looked at in the end; a long run has thousands, and one takes up to 0.2 s


class Moment:
    """All that a store has held at one time, to be read from."""

    def __init__(self, runs: Mapping[str, Snapshot], messages: Mapping[str, Sequence[bytes]]) -> None:
        self.runs = runs
        self.messages = messages
        self.reads = 0

    @property
    def told(self) -> object:
        """What parts are made of; who owns a run does not matter."""
        return {run_id: (each.run.status, *each[1:5]) for run_id, each in self.runs.items()}

    async def snapshot(self, run_id: str) -> Snapshot:
        if run_id not in self.runs:
            raise RunNotFound(run_id)
        return self.runs[run_id]

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[bytes]:
        assert key == "messages"
        found = self.messages[run_id][after : after + limit]
        self.reads += len(found)
        return Page(found, str(after + limit) if after + limit < len(self.messages[run_id]) else None)

    async def snapshot_with(self, run_id: str, key: str, after: int, limit: int = 100) -> tuple[Snapshot, Page[bytes]]:
        return await self.snapshot(run_id), await self.elements(run_id, key, after, limit)

    async def below(self, run_id: str) -> Sequence[RunInfo]:
        return [
            each.run
            for child, each in sorted(self.runs.items())
            if child.startswith(f"{run_id}.") and "." not in child[len(run_id) + 1 :]
        ]


async def moment_of(store: Any, *roots: str) -> Moment:
    """What a store holds of runs and of those below them."""
    runs: dict[str, Snapshot] = {}
    for root in roots:
        try:
            runs[root] = await store.head(root)
        except RunNotFound:
            continue
        for info in (await store.find(below=root, limit=ALL)).items:
            runs[info.run_id] = await store.head(info.run_id)
    messages = {run_id: (await store.elements(run_id, "", "messages", limit=ALL)).items for run_id in runs}
    return Moment(runs, messages)


class Recording:
    """Keeps a moment after each change of a store."""

    def __init__(self, *roots: str) -> None:
        self.roots = roots
        self.moments: list[Moment] = []

    async def keep(self) -> None:
        self.moments.append(await moment_of(self, *self.roots))


def _recorded(store: type, name: str) -> Any:
    async def change(self: Recording, *args: Any, **options: Any) -> Any:
        result = await getattr(store, name)(self, *args, **options)
        await self.keep()
        return result

    return change


_CHANGES = ("create", "commit", "wait", "park", "reopen", "answer", "settle", "signal", "cancel")


def _changes(store: type) -> dict[str, Any]:
    return {name: _recorded(store, name) for name in _CHANGES}


class RecordingStore(Recording, MemoryStore):
    """In memory."""

    def __init__(self, *roots: str) -> None:
        Recording.__init__(self, *roots)
        MemoryStore.__init__(self)


class RecordingFile(Recording, SqliteStore):
    """In a file."""

    def __init__(self, path: Path, *roots: str) -> None:
        Recording.__init__(self, *roots)
        SqliteStore.__init__(self, path)


for _kind, _store in ((RecordingStore, MemoryStore), (RecordingFile, SqliteStore)):
    for _name, _change in _changes(_store).items():
        setattr(_kind, _name, _change)


class Loops:
    """Finds the loops of a runner's agents."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def __call__(self, workflow: str, _version: int) -> AgentLoop:
        loop = self._runner.workflow(workflow)
        assert isinstance(loop, AgentLoop)
        return loop


async def all_parts(
    source: Any, loops: Any, run_id: str, cursor: str | None = None, limit: int = 200
) -> tuple[list[StreamPart], bool]:
    """All parts after a cursor, and whether the run is over."""
    parts: list[StreamPart] = []
    while True:
        batch = await read(source, loops, run_id, cursor, limit=limit)
        assert all(part.cursor for part in batch.parts)
        parts += batch.parts
        if batch.parts:
            assert batch.cursor == batch.parts[-1].cursor
        assert batch.parts or not batch.has_more
        cursor = batch.cursor
        if not batch.has_more:
            return parts, batch.is_over


class Law:
    """Whoever reads when and how often gets each numbered part once, and the same ones as who reads from the start."""

    def __init__(self, loops: Any, run_id: str) -> None:
        self._loops = loops
        self._run_id = run_id
        self._random = Random(run_id)  # noqa: S311  # which readers are looked at
        self._known: dict[str | None, frozenset[PartKey]] = {None: frozenset()}
        self.parts: list[StreamPart] = []

    async def holds_in(self, moments: Sequence[Moment]) -> None:
        """See that it holds, for readers who come at each time, and for many of those who have left at some part."""
        before: object = None
        for moment in moments:
            if moment.told != before:
                await self.holds(moment)
            before = moment.told
        await self.holds(moments[-1], most=MANY)

    async def holds(self, moment: Moment, most: int = 8) -> None:
        """See that it holds at a time, for readers who left before: some of those, and the last ones."""
        if self._run_id not in moment.runs:
            return
        self.parts, _ = await all_parts(moment, self._loops, self._run_id)
        whole = self._note(None, self.parts)
        in_order(self.parts)
        epoch = str(moment.runs[self._run_id].run.epoch)
        known = list(self._known.items())
        self._random.shuffle(known)
        for cursor, before in known[:most]:
            limit = self._random.choice([2, 20, 200, 200])
            parts, _ = await all_parts(moment, self._loops, self._run_id, cursor, limit)
            told = self._note(cursor, parts)
            ends = {key for key in told if key.type in {"completed", "error", "cancelled"} and key.visit != epoch}
            assert told - ends == whole - ends, (cursor, sorted(map(str, told ^ whole)))
            assert len(told) == len(before) + len(parts), (cursor, "twice")

    def _note(self, cursor: str | None, parts: Sequence[StreamPart]) -> frozenset[PartKey]:
        told = self._known[cursor]
        for part in parts:
            assert part.key not in told, ("twice", part)
            told |= {part.key}
            known = self._known.setdefault(part.cursor, told)
            ends = {key for key in known ^ told if key.type in {"completed", "error", "cancelled"}}
            assert known - ends == told - ends, ("one cursor for two things", part.cursor)
        return told


def in_order(parts: Sequence[StreamPart]) -> None:
    """See that parts come in an order in which they could have been committed."""
    open_runs: set[str] = {""}
    called: set[tuple[str, str | None]] = set()
    last: dict[str, int] = {}
    for number, part in enumerate(parts):
        visit = part.visit.partition("#")[0]
        if part.is_last:
            assert number == len(parts) - 1
            assert part.seq is None
            continue
        assert part.seq is not None
        if part.type == "agent_started":
            open_runs.add(visit)
            continue
        if part.type == "agent_finished":
            open_runs.remove(visit)
            continue
        assert visit in open_runs, part
        key = (visit, part.call_id)
        if part.type == "tool_call":
            called.add(key)
        elif part.call_id is not None and not part.to_dict().get("result", "").startswith("not called: the run ended"):
            assert key in called, part
        if part.type in {"message", "tool_call"}:
            assert part.seq >= last.get(visit, -1)
            last[visit] = part.seq
