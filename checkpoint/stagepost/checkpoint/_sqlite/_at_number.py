"""A run as it was: at a number of its history, right before the next one.

Frames are in the history, and that items have ended. The items themselves are kept by the join of their fan-out; those
of fan-outs that were not joined are where they always are.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final

from .._records import Frame, Item, ItemStatus, Keep
from .._snapshots import Snapshot
from ..errors import NotInHistory, RunNotFound
from ._queries import FRAME_COLUMNS, SNAPSHOT_PARTS, Query, Row, as_bytes, union
from ._rows import Outside, making_sense, to_effect, to_frame, to_item, to_run, to_time

_COUNTER: Final = "[]"  # behind the path of a fold in the visits of a frame: it is under way
_ITEM: Final = "path, visit, idx, status, input, value, error, saved_at"
_ITEM_OF_OLD: Final = ", ".join(f"old.{column}" for column in _ITEM.split(", "))
_RUN: Final = "(SELECT rk FROM run)"
_ASKED: Final = "(SELECT number FROM asked)"
_STANDING: Final = "iif(past.path = '', past.next, past.path || '/' || past.next)"
_ITEMS: Final = f"""(
SELECT {_ITEM_OF_OLD}, old.joined FROM past JOIN past_items AS old
ON old.rk = past.rk AND old.path = {_STANDING} AND old.joined = (
  SELECT min(joined) FROM past_items
  WHERE past_items.rk = past.rk AND past_items.path = {_STANDING} AND joined > past.number
) UNION ALL SELECT {_ITEM}, NULL FROM items WHERE rk = {_RUN})
"""
_ENDED: Final = f"history WHERE rk = {_RUN} AND kind = 'item' AND outcome = 'ok'"
_KNOWN: Final = f"""
max(number), (SELECT version FROM migrated WHERE rk = {_RUN} AND number >= {_ASKED} ORDER BY number LIMIT 1)
"""
_NAMED: Final = f"vals WHERE rk = {_RUN} AND (path, number) IN (SELECT path, number FROM ref WHERE length IS NULL)"
_PARTS: Final = {
    **{kind: SNAPSHOT_PARTS[kind] for kind in ("shape", "run", "number", "effect", "element")},
    "frame": (f"{FRAME_COLUMNS}, saved_at, number", "past"),
    "item": (f"{_ITEM}, joined", _ITEMS),
    "value": ("number, value", _NAMED),
    "ended": ("place, number", _ENDED),
    "known": (_KNOWN, f"history WHERE rk = {_RUN}"),
}
_PAST: Final = """
WITH RECURSIVE run AS (SELECT * FROM runs WHERE run_id = CAST(? AS TEXT)),
given (number) AS (SELECT CAST(? AS INTEGER)),
asked (number) AS (  -- in the midst of a migration there is nothing that fits together
  SELECT coalesce((SELECT until FROM migrated WHERE rk = (SELECT rk FROM run)
    AND migrated.number < given.number AND until > given.number), number) FROM given
),
past AS (
  SELECT * FROM history WHERE rk = (SELECT rk FROM run) AND number IN (
    SELECT max(number) FROM history
    WHERE rk = (SELECT rk FROM run) AND number <= (SELECT number FROM asked) AND path IS NOT NULL GROUP BY path
  )
),
ref (path, number, length, maker) AS (
  SELECT past.path, json_extract(key.value, '$[0]'), json_extract(key.value, '$[1]'), json_extract(key.value, '$[2]')
  FROM past, json_each(past.refs) AS key
),
parts (of_maker, of_number, maker, number, stop) AS (
  SELECT DISTINCT iif(maker = 0, (SELECT rk FROM run), maker), number, iif(maker = 0, (SELECT rk FROM run), maker),
    number, length
  FROM ref WHERE length IS NOT NULL
  UNION ALL
  SELECT of_maker, of_number, base_maker, base_number, base_length
  FROM parts JOIN lists USING (maker, number) WHERE base_maker IS NOT NULL
)
""" + union(_PARTS)


def at_number_query(run_id: str, number: int) -> Query:
    """All rows that say how a run was at a number of its history."""
    return Query(_PAST, (as_bytes(run_id), number))


def failures_query(run_id: str, path: str | None) -> Query:
    """By which number of its history a run has joined a fan-out last of which items had failed."""
    text = """
    SELECT max(joined) FROM past_items
    WHERE rk = (SELECT rk FROM runs WHERE run_id = CAST(? AS TEXT)) AND status = 'failed'
    """
    values = (as_bytes(run_id),)
    return (
        Query(text, values) if path is None else Query(f"{text} AND path = CAST(? AS TEXT)", (*values, as_bytes(path)))
    )


def below_query(run_id: str, number: int | None) -> Query:
    """Effects of the runs whose ids begin with that of a run, and which step of it has started them, and whether late.

    That step is known of the run right below the first one, whose id ends before the next dot.
    """
    text = """
    WITH above AS (SELECT rk, run_id || '.' AS dotted FROM runs WHERE run_id = CAST(? AS TEXT))
    SELECT run.run_id, place, effects.key, child.starter, child.created_at >= coalesce((
      SELECT saved_at FROM history WHERE rk = above.rk AND number = CAST(? AS INTEGER) + 1), 9223372036854775807)
    FROM above JOIN runs AS run ON run.run_id > dotted AND run.run_id < substr(dotted, 1, length(dotted) - 1) || '/'
    JOIN effects ON effects.rk = run.rk AND NOT note
    JOIN runs AS child ON child.run_id = substr(
      run.run_id, 1, length(dotted) + instr(substr(run.run_id, length(dotted) + 1) || '.', '.') - 1
    ) ORDER BY run.run_id, place, effects.key
    """
    return Query(text, (as_bytes(run_id), number))


def to_snapshot_at(run_id: str, rows: Iterable[Row], number: int) -> Snapshot:
    """The rows of `at_number_query`.

    Raises:
        RunNotFound: There are none.
        NotInHistory: The run has no such number in its history.
        CorruptRun: They make no sense.
    """
    with making_sense(run_id):
        return _to_snapshot(run_id, rows, number)


def _to_snapshot(run_id: str, rows: Iterable[Row], number: int) -> Snapshot:
    parts: dict[str, list[Row]] = {kind: [] for kind in _PARTS}
    for kind, *columns in rows:
        parts[kind].append(columns)
    if not parts["run"]:
        raise RunNotFound(run_id)
    run = to_run(parts["run"][0])
    last, version, *_ = parts["known"][0]
    if not 1 <= number <= (last or 0):
        raise NotInHistory(run_id, number, last or 0, keeps=run.keep is Keep.ALL)
    outside = Outside(parts["value"], parts["element"])
    frames = {row[0]: to_frame(row, outside) for row in parts["frame"]}
    numbers = {row[0]: row[8] for row in parts["frame"]}
    items = _items(parts["item"])
    ended = _Ended(parts["ended"], number)
    found, under_way = [frames[""]], list[Item]()
    for frame in found:  # which grows: below the root are those of items under way
        for item in map(partial(ended.as_of, since=numbers[frame.path]), _items_at(frame, items)):
            under_way.append(item)
            path = f"{item.path}[{item.idx}]"
            if item.status is not ItemStatus.OK and numbers.get(path, 0) > numbers[frame.path]:
                found.append(frames[path])
    return Snapshot(
        run if version is None else run._replace(version=version),
        {frame.path: frame for frame in found},
        tuple(under_way),
        effects=tuple(map(to_effect, parts["effect"])),
        shape=parts["shape"][0][0] if parts["shape"] else None,
        numbers=parts["number"][0][0],
        saved_at={row[0]: to_time(row[7]) for row in parts["frame"]},
        row=parts["number"][0][1],
    )


def _items(rows: Iterable[Row]) -> Mapping[str, Sequence[Item]]:
    """By path the items that were joined next or, where there are none, those that are not joined."""
    joined: dict[str, list[Item]] = {}
    open_: dict[str, list[Item]] = {}
    for row in rows:
        (open_ if row[8] is None else joined).setdefault(row[0], []).append(to_item(row))
    return {path: sorted(items, key=attrgetter("idx")) for path, items in {**open_, **joined}.items()}


class _Ended:
    """When items have ended well.

    Args:
        rows: Their places with the numbers in the history.
        number: The number in question.
    """

    def __init__(self, rows: Iterable[Row], number: int) -> None:
        self._number = number
        self._found: dict[str, list[int]] = {}
        for place, ended, *_ in rows:
            self._found.setdefault(place.partition("#")[0], []).append(ended)

    def as_of(self, item: Item, *, since: int) -> Item:
        """An item as it was at the number in question; one of which no end is told was given to its run as it is.

        Args:
            item: It.
            since: By which number it was frozen.
        """
        ended = [number for number in self._found.get(f"{item.path}[{item.idx}]", ()) if number > since]
        if item.status is not ItemStatus.OK or min(ended, default=0) <= self._number:
            return item
        return item._replace(status=ItemStatus.WAITING, value=None)


def _items_at(frame: Frame, items: Mapping[str, Sequence[Item]]) -> Collection[Item]:
    """The items of the fan-out or fold that a frame stands at."""
    is_under_way = frame.width is not None or f"{frame.next}{_COUNTER}" in frame.visits
    path = f"{frame.path}/{frame.next}" if frame.path else frame.next
    return items.get(path or "", ()) if is_under_way else ()
