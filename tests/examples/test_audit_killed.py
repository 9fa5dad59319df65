"""The demo's workflow, killed with SIGKILL at more than twenty points in real processes.

Each kind of point is met twice; the others are run on demand, with ``pytest -m long``.
"""

import json
import signal
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
from dependency_audit.worker import Job
from tests._forks import Forks
from tests.examples.audit_environment import Site

from stagepost.checkpoint import Item, ItemStatus, RunNotFound, Snapshot, SqliteStore

SCRIPT = Path(__file__).with_name("audit_killed.py")
RUN = "audit-1"
DISTRIBUTIONS = 12
POINTS = [
    *(f"before:{number}" for number in (1, 2, 3, 4, 8, 14)),
    *(f"within:{number}" for number in (1, 2, 3, 5, 9)),
    *(f"after:{number}" for number in (1, 2, 3, 6, 10)),
    "during:inventory:1",
    "during:inspect:1",
    "during:inspect:7",
    "during:judge:5",
    "during:analyst:6",
    "during:editor:1",
]
COVERING = {
    "before:1",
    "before:14",
    "within:2",
    "within:9",
    "after:3",
    "after:10",
    "during:inspect:7",
    "during:analyst:6",
}
PLACES = ["inventory", "inspections", "policy", "verdict", "verdict/needs_review/findings"]
WORK = ["inventory", "inspect", "judge", "-", "analyst"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One environment for all points; nobody writes to it."""
    site = Site(tmp_path_factory.mktemp("site-packages"))
    for number in range(DISTRIBUTIONS - 1):
        site.install(f"library-{number}", "1.0", files={f"library_{number}.py": f"x = {number}\n"})
    site.install("victim", "2.5", files={"victim.py": "safe = True\n"})
    site.write("victim.py", "safe = False\n")
    return site.folder


@pytest.fixture(scope="module")
def uninterrupted(forks: Forks, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of an audit that nobody killed."""
    output = tmp_path_factory.mktemp("through")
    through = Job(RUN, [str(folder)], "the environment", str(output))
    assert audit(forks, through, output / "log", "never").returncode == 0
    return through.report.read_text()


@pytest.fixture
def job(folder: Path, tmp_path: Path) -> Job:
    return Job(RUN, [str(folder)], "the environment", str(tmp_path))


def audit(forks: Forks, job: Job, log: Path, point: str) -> subprocess.CompletedProcess[str]:
    return forks.run(str(SCRIPT), json.dumps(asdict(job)), str(log), point, cwd=log.parent)


def work_done(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


async def committed(job: Job) -> set[str]:
    """The work that a killed process has left behind as done."""
    async with SqliteStore(job.store) as store:
        try:
            snapshot = await store.load(RUN)
        except RunNotFound:
            return set()
    return _finished(snapshot) | {_work_of(item) for item in snapshot.items if item.status is ItemStatus.OK}


def _finished(snapshot: Snapshot) -> set[str]:
    """All work of the places behind which the run stands; a name alone stands for every call of that kind."""
    place = snapshot.root.next
    passed = PLACES.index(place) if place in PLACES else len(PLACES)
    return {*WORK[:passed], *(["editor"] if place is None else [])}


def _work_of(item: Item) -> str:
    value = json.loads(item.input)
    if item.path == "inspections":
        return f"inspect {value['metadata_path']}"
    return f"analyst {value['inspection']['metadata_path']}"


def was_committed(line: str, done: set[str]) -> bool:
    return line in done or line.split(maxsplit=1)[0] in done


@pytest.mark.parametrize(
    "point", [pytest.param(point, marks=[] if point in COVERING else pytest.mark.long) for point in POINTS]
)
async def test_p7_a_killed_audit_goes_on_where_it_stopped(
    forks: Forks, job: Job, uninterrupted: str, tmp_path: Path, point: str
) -> None:
    first = audit(forks, job, tmp_path / "first", point)
    assert first.returncode == -signal.SIGKILL, first.stderr
    done = await committed(job)

    second = audit(forks, job, tmp_path / "second", "never")
    assert second.returncode == 0, second.stderr
    again = [line for line in work_done(tmp_path / "second") if was_committed(line, done)]
    assert again == [], f"committed work ran again after {point}"
    assert job.report.read_text() == uninterrupted


def test_the_points_are_at_least_twenty() -> None:
    assert len(set(POINTS)) >= 20
