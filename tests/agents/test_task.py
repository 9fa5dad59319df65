"""Where a task stands, as a table."""

import pytest

from stagepost.agents import TaskStatus
from stagepost.agents._tasks._task import status_of
from stagepost.checkpoint import RunStatus

RUNNING, WAITING = RunStatus.RUNNING, RunStatus.WAITING


@pytest.mark.parametrize(
    ("run", "place", "is_in_doubt", "needs_approval", "needs_answer", "is_begun", "status"),
    [
        pytest.param(RUNNING, "infer", False, False, False, False, "pending", id="stored"),
        pytest.param(RUNNING, "infer", False, False, False, True, "thinking", id="model asked"),
        pytest.param(RUNNING, "tools", False, False, False, True, "awaiting_tool", id="tools called"),
        pytest.param(RUNNING, "tool", False, False, False, True, "awaiting_tool", id="one tool called"),
        pytest.param(
            RUNNING, "tools", False, True, False, True, "awaiting_approval", id="tools called beside an approval"
        ),
        pytest.param(RUNNING, "give-up", False, False, False, True, "thinking", id="giving up"),
        pytest.param(WAITING, "tools", False, True, False, True, "awaiting_approval", id="parked for an approval"),
        pytest.param(WAITING, "tools", False, False, False, True, "awaiting_tool", id="parked for an agent below"),
        pytest.param(WAITING, "tools", False, False, True, True, "awaiting_answer", id="parked for a value"),
        pytest.param(WAITING, "tools", False, True, True, True, "awaiting_approval", id="parked for a value, too"),
        pytest.param(WAITING, "tools", True, False, False, True, "in_doubt", id="parked for word of a call"),
        pytest.param(RUNNING, "tools", True, False, False, True, "in_doubt", id="tools called beside a doubt"),
        pytest.param(WAITING, "tools", True, True, False, True, "in_doubt", id="parked for both"),
        pytest.param(RunStatus.COMPLETED, None, False, False, False, True, "completed", id="answered"),
        pytest.param(RunStatus.FAILED, "infer", False, False, False, True, "failed", id="failed"),
        pytest.param(RunStatus.DEAD, "infer", False, False, False, False, "failed", id="dead"),
        pytest.param(RunStatus.CANCELLED, "tools", True, True, False, True, "cancelled", id="cancelled"),
        pytest.param(
            RunStatus.CANCELLED,
            "infer",
            False,
            False,
            False,
            False,
            "cancelled",
            id="cancelled before anything was done",
        ),
    ],
)
def test_status_follows_from_the_run(
    *,
    run: RunStatus,
    place: str | None,
    is_in_doubt: bool,
    needs_approval: bool,
    needs_answer: bool,
    is_begun: bool,
    status: str,
) -> None:
    found = status_of(
        run,
        place,
        is_in_doubt=is_in_doubt,
        needs_approval=needs_approval,
        needs_answer=needs_answer,
        is_begun=is_begun,
    )
    assert found == status
    assert found.is_open is run.is_open


def test_every_status_of_a_run_and_of_a_task_has_a_place_in_the_table() -> None:
    (marks,) = [mark for mark in test_status_follows_from_the_run.pytestmark if mark.name == "parametrize"]  # type: ignore[attr-defined]  # set by pytest
    rows = [row.values for row in marks.args[1]]
    assert {row[0] for row in rows} == set(RunStatus)
    assert {row[-1] for row in rows} == set(TaskStatus)
