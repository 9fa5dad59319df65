"""The resume suite: six properties of every shape of workflow, killed with SIGKILL at four points of a save.

A process of its own works on a run (and answers whatever it waits for) until it kills itself: before the save, inside
the transaction, behind the commit but before anybody has heard of it, or behind the acknowledgement. Then the run is
recovered here, and compared with a run that nobody has killed. The properties:

- *prefix continuation*: what was committed is never executed again, and the run goes on behind it to the same end;
- *effect at most once*: whatever happens, no effect happens twice;
- *fork determinism*: a fork of what was left, where it stands and at numbers of its history, ends the same, and leaves
  it as it is;
- *checkpoint validity*: every frame and wait on disk names a place of the workflow, and reads back;
- *consume once*: an answer or signal that was taken is used, once, and no other in its place;
- *recovery determinism*: two recoveries of the same file end the same.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import pytest
from pydantic_core import from_json
from tests.workflows._kills import (
    MIDDLES,
    Oracle,
    Recovered,
    forks_of,
    killed,
    left_behind,
    lines,
    recovered_copy,
    uninterrupted,
)
from tests.workflows._specimens import NAMES
from tests.workflows._victim import KEEPING, POINTS
from tests.workflows._waiting_specimens import ACTING, SIGNALS, WAITING, nameless

from stagepost.checkpoint import ItemStatus, Keep, Snapshot, StoredWait, WaitKind, WaitStatus
from stagepost.workflows._plans._places import plan_at, step_at
from stagepost.workflows._runs._compatibility import check_compatible
from stagepost.workflows._values._schema import to_values

SHAPES = (*NAMES, *WAITING)
NUMBERS = 4  # of a history that are forked at, and a few more
IN_CYCLES = {"cycle", "nested", "graph", "rounds", "effects", "grows"}  # there paths come again in other visits


@dataclass(frozen=True)
class Case:
    """One kill, and two recoveries from it.

    Attributes:
        point: Where the process was killed.
        oracle: What nobody has killed.
        left: What was on disk.
        notes: What its steps had noted.
        ended: Paths of the steps and items whose end was acknowledged.
        answers: Ids of the waits whose answer was acknowledged.
        first: A recovery.
        second: Another one.
        folder: Where what was left is, and copies of it go.
    """

    point: str
    oracle: Oracle
    left: Snapshot
    notes: list[str]
    ended: list[str]
    answers: list[str]
    first: Recovered
    second: Recovered
    folder: Path


async def killed_case(folder: Path, name: str, point: str) -> Case:
    place = folder / "killed"
    place.mkdir()
    await killed(place, name, point, MIDDLES[name])
    first = await recovered_copy(place, name, folder / "first")
    second = await recovered_copy(place, name, folder / "second")
    oracle = await uninterrupted(name)
    left = await left_behind(place, name)
    notes, ended, answers = (lines(place / file) for file in ("notes", "ended", "answers"))
    return Case(point, oracle, left, notes, ended, answers, first, second, folder)


@pytest.fixture(scope="module")
def case_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], Case]]:
    """Each kill happens once, whatever is to be shown of it."""
    cases: dict[tuple[str, str], Case] = {}

    def get(name: str, point: str) -> Case:
        if (name, point) not in cases:
            folder = tmp_path_factory.mktemp(name)
            cases[name, point] = anyio.run(partial(killed_case, folder, name, point))
        return cases[name, point]

    yield get
    cases.clear()


def prefix_continuation(case: Case) -> None:
    assert nameless(case.first.result) == case.oracle.result
    before, counts = set(case.notes), Counter(case.first.notes)
    assert before <= case.oracle.steps
    assert set(counts) == case.oracle.steps
    again = {label for label, count in counts.items() if count > 1}
    assert again <= before
    assert sum(counts.values()) - len(counts) <= case.oracle.specimen.at_once
    if case.oracle.specimen.workflow.name not in IN_CYCLES:
        assert not again & set(case.ended)
        assert not any(is_below(label, item) for label in again for item in committed_items(case.left))
    if case.oracle.specimen.at_once == 1 and case.oracle.specimen.workflow.name in NAMES:
        assert len(again) == (0 if case.point in {"after the commit", "acknowledged"} else 1)


def effect_at_most_once(case: Case) -> None:
    for run in (case.first, case.second):
        assert len(set(run.effects)) == len(run.effects)
        assert set(run.effects) <= case.oracle.effects


def checkpoint_validity(case: Case) -> None:
    program = case.oracle.specimen.workflow.plan
    check_compatible(case.left, program)
    for frame in case.left.frames.values():
        inner = plan_at(program, frame.path)
        assert inner is not None
        dict(inner.schema.view(to_values(frame.state, inner.schema.lists)))
    for item in case.left.items:
        from_json(item.input)
        assert (item.value is not None) == (item.status is ItemStatus.OK)
    for wait in case.left.waits:
        assert wait.kind is WaitKind.EFFECT or step_at(program, wait.place) is not None


def consume_once(case: Case) -> None:
    said = list(sayings(case.first.result))
    numbers = [saying["number"] for saying in said if "number" in saying]
    places = [saying["to"] for saying in said if "to" in saying]
    assert len(set(numbers)) == len(numbers)
    assert len(set(places)) == len(places)
    after = {wait.place: wait for wait in case.first.stored.waits}
    for wait in case.left.waits:
        if wait.status is not WaitStatus.OPEN:
            assert value_of(after[wait.place]) == value_of(wait)
    for wait_id in case.answers:
        assert value_of(after[wait_id.partition("/")[2]]) == {"to": wait_id.partition("/")[2], "by": "victim"}
    signs = [wait for wait in case.first.stored.waits if wait.kind is WaitKind.SIGNAL]
    taken = sorted(signs, key=lambda wait: wait.opened_at)
    assert [from_json(wait.value or b"")["number"] for wait in taken] == list(range(SIGNALS.get(name_of(case), 0)))


def recovery_determinism(case: Case) -> None:
    first, second = case.first, case.second
    assert first.result == second.result
    assert dict(first.stored.root.state) == dict(second.stored.root.state)
    assert set(first.effects) == set(second.effects)
    assert sorted(first.stored.effects, key=str) == sorted(second.stored.effects, key=str)
    assert answers_in(first.stored) == answers_in(second.stored)


def fork_determinism(case: Case) -> None:
    name = name_of(case)
    forks = anyio.run(forks_of, case.folder / "killed", name, case.folder / "forks", NUMBERS)
    for number, result in forks.results.items():
        assert nameless(result, "number") == nameless(case.oracle.result, "number"), number
    assert forks.after == forks.before
    assert len(forks.results) > 1 or case.left.run.keep is not Keep.ALL


PROPERTIES: Mapping[Callable[[Case], None], tuple[str, ...]] = {
    prefix_continuation: SHAPES,
    effect_at_most_once: ACTING,
    checkpoint_validity: SHAPES,
    consume_once: tuple(name for name in WAITING if name not in ("effects", "family")),
    recovery_determinism: SHAPES,
    fork_determinism: SHAPES,
}


def is_covering(name: str, point: str) -> bool:
    """Each shape is killed on both sides of the commit: every other one before the save, the others within it, say."""
    return (SHAPES.index(name) + POINTS.index(point)) % 2 == 0


def is_dear(holds: Callable[[Case], None], point: str) -> bool:
    """Whether there is less to be shown than it takes: a run without a history can only be forked where it stands."""
    return holds is fork_determinism and point not in KEEPING


SUITE = [
    pytest.param(
        holds,
        name,
        point,
        id="-".join([holds.__name__, name, point.replace(" ", "_")]),
        marks=[] if is_covering(name, point) and not is_dear(holds, point) else pytest.mark.long,
    )
    for holds, names in PROPERTIES.items()
    for name in names
    for point in POINTS
]


@pytest.mark.parametrize(("holds", "name", "point"), SUITE)
def test_p7_resume(holds: Callable[[Case], None], name: str, point: str, case_of: Callable[[str, str], Case]) -> None:
    holds(case_of(name, point))


def name_of(case: Case) -> str:
    return case.oracle.specimen.workflow.name


def committed_items(snapshot: Snapshot) -> set[str]:
    """Notes of the items whose outcome is on disk."""
    return {f"{item.path}[{item.idx}]" for item in snapshot.items if item.status is not ItemStatus.WAITING}


def is_below(label: str, item: str) -> bool:
    path = label.partition("#")[0]
    return path == item or path.startswith(f"{item}/")


def answers_in(snapshot: Snapshot) -> Mapping[str, object]:
    """What was waited for. For a child only if it had not ended by then, which may be so or not."""
    return {wait.place: value_of(wait) for wait in snapshot.waits if wait.kind is not WaitKind.CHILD}


def value_of(wait: StoredWait) -> object:
    return None if wait.value is None else from_json(wait.value)


def sayings(value: object) -> Iterator[Mapping[str, object]]:
    """What somebody has said, anywhere in a result."""
    if isinstance(value, Mapping):
        if "by" in value:
            yield value
        for part in value.values():
            yield from sayings(part)
    elif isinstance(value, list):
        for part in value:
            yield from sayings(part)
