"""A process that is killed with SIGKILL after each of its commits, and another one that goes on."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from inspect import unwrap
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

import anyio

from stagepost.checkpoint import SqliteStore
from stagepost.hub import Duration, seconds

from ._lives import Drive, MakeRunner

T = TypeVar("T")

_VICTIM: Final = "stagepost.testing._victim"


class KillReport(NamedTuple, Generic[T]):
    """What `kill_and_recover` has seen.

    Attributes:
        kills: How often a process was killed, each time a commit later.
        result: What the run ends with if nobody kills it, and has ended with after each kill.
    """

    kills: int
    result: T


class KillSurvivalError(AssertionError):
    """After a kill something has ended otherwise than without one, or its process has failed by itself.

    Attributes:
        commit: After which commit it was killed.
    """

    def __init__(self, commit: int, why: str) -> None:
        self.commit = commit
        super().__init__(f"killed after commit {commit}: {why}")


async def kill_and_recover(
    make_runner: MakeRunner,
    drive: Drive[T],
    *,
    folder: Path,
    check: Callable[[Path, T], object] | None = None,
    every: int = 1,
    timeout: Duration | None = 120,  # the domain's own word
) -> KillReport[T]:
    """Run something in a process that SIGKILL ends after its first commit, and go on with it here.

    Then after its second commit, and so on, until a process comes to its end before it is killed. Each time the result
    has to be the one that comes out if nobody kills anything.

    ::

        def make_runner(store):  # functions of a module, which the other process imports
            return Runner(store, workflows=[order], deps=Till(store.path.parent / "till.txt"))

        async def drive(runner):
            run = await runner.start(order, {"item": "tea"}, run_id="order")
            return await run.result()

        def paid_once(folder, result):
            assert (folder / "till.txt").read_text() == "tea"

        async def test_an_order_survives_any_kill(tmp_path):
            await kill_and_recover(make_runner, drive, folder=tmp_path, check=paid_once)

    A process takes half a second, and more if your modules take long to import. A step that was under way when its
    process was killed runs again, as after any crash; effects that must not are those of ``context.once``.

    Args:
        make_runner: Makes the runner of each life for the store that it is given, a `SqliteStore` in a folder of its
            own for each kill; a function at the top of a module.
        drive: What each life does with it, likewise. It starts runs with ``run_id=`` or ``key=``, so that the next life
            finds them again, and must be able to meet what it has done before.
        folder: Where the stores are made, such as pytest's ``tmp_path``.
        check: Called after each recovery with the folder of the store and the result; an error that it raises names the
            kill.
        every: Kill after every second, third, … commit only, where there are many.
        timeout: Seconds for each process, and each recovery. None for no limit.

    Raises:
        KillSurvivalError: A result differs, or the process that was to be killed has failed by itself.
        ValueError: One of the functions cannot be imported by another process, or `every` is not positive.
        TimeoutError: A process or a recovery took longer.
    """
    if every < 1:
        raise ValueError(f"every={every}: give 1 or more")
    limit = seconds(timeout, "timeout")
    names = [_importable(function, what) for function, what in ((make_runner, "make_runner"), (drive, "drive"))]
    with anyio.fail_after(limit):
        expected = await _lived(folder / "not-killed", make_runner, drive)
    kills = 0
    for commit in _counted(every):
        place = folder / f"killed-{commit}"
        await anyio.Path(place).mkdir(parents=True)
        with anyio.fail_after(limit):
            was_killed = await _killed(place, commit, names)
            result = await _lived(place, make_runner, drive)
        _compare(commit, expected, result, place, check)
        if not was_killed:
            break
        kills += 1
    return KillReport(kills, expected)


def _counted(every: int) -> Iterator[int]:
    commit = every
    while True:
        yield commit
        commit += every


async def _lived(place: Path, make_runner: MakeRunner, drive: Drive[T]) -> T:
    """A life that nobody ends, in this process."""
    await anyio.Path(place).mkdir(parents=True, exist_ok=True)
    async with SqliteStore(place / "runs.db", durability="process") as store, make_runner(store) as runner:
        await runner.recover()
        return await drive(runner)


async def _killed(place: Path, commit: int, names: Iterable[str]) -> bool:
    """A life in another process; whether it was killed, or has come to its end before.

    Raises:
        KillSurvivalError: It has failed.
    """
    command = [sys.executable, "-m", _VICTIM, str(place / "runs.db"), str(commit), *names]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))}
    done = await anyio.run_process(command, check=False, stdout=subprocess.DEVNULL, env=environment)
    if done.returncode not in {0, -signal.SIGKILL}:
        raise KillSurvivalError(commit, f"its process failed before:\n{done.stderr.decode(errors='replace')}")
    return done.returncode != 0


def _compare(commit: int, expected: T, result: T, place: Path, check: Callable[[Path, T], object] | None) -> None:
    if result != expected:
        raise KillSurvivalError(commit, f"it ended with {result!r:.500} and not with {expected!r:.500}")
    if check is not None:
        try:
            check(place, result)
        except Exception as error:
            error.add_note(f"this is so if the process is killed after commit {commit}; see {place}")
            raise


def _importable(function: Callable[..., Any], what: str) -> str:
    """How another process finds a function: its module's file and name, and its own name.

    Raises:
        ValueError: It cannot.
    """
    function = unwrap(function)
    module = sys.modules.get(getattr(function, "__module__", ""))
    name = getattr(function, "__qualname__", "")
    if module is None or not getattr(module, "__file__", None) or getattr(module, name, None) is not function:
        raise ValueError(
            f"{what}={function!r} is no function at the top of a module: the process that is killed imports it by its "
            "name"
        )
    return f"{module.__file__}:{module.__name__}:{name}"
