"""The process of a traced task is really killed: the next one goes on with the tree, and ends what was open."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents.tracing._lives import live
from tests.agents.tracing._noting import read, tree
from tests.checkpoint._processes import running

LIFE = "import sys, anyio; from tests.agents.tracing._lives import live; anyio.run(live, *sys.argv[1:])"

WHOLE = [
    "task-lead-t ok",
    "  workflow-lifecycle ok",
    "    iteration-0 ok",
    "      inference-lead ok",
    "      tool-look ok",
    "      tool-look ok",
    "    iteration-1 ok",
    "      inference-lead ok",
    "      tool-send ok",
    "    iteration-2 ok",
    "      inference-lead ok",
    "      sub-agent-helper ok",
    "        iteration-0 ok",
    "          inference-helper ok",
    "          tool-look ok",
    "        iteration-1 ok",
    "          inference-helper ok",
    "    iteration-3 ok",
    "      inference-lead ok",
]
UNKNOWN = "      tool-send error"  # nobody knows whether it was sent, and the model is told so


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def killed(folder: Path, held: str, heard: str, kind: str = "task") -> None:
    """A process that is killed once its provider has heard of the beginning of a span, for the last time."""
    name, _, times = heard.partition(" x")
    async with running(LIFE, folder, kind, held) as process:
        for _ in range(int(times or 1)):
            while (await process.line()).strip() != name:
                pass
        await process.kill()


@pytest.mark.parametrize(
    ("held", "heard", "line"),
    [
        ("ask 0", "inference-lead", "      inference-lead interrupted"),
        ("send", "tool-send", "      tool-send interrupted"),
        ("look", "tool-look x2", "      tool-look interrupted"),
        ("ask 1", "inference-lead x2", "      inference-lead interrupted"),
        ("helper", "inference-helper", "          inference-helper interrupted"),
        ("look below", "tool-look x3", "          tool-look interrupted"),
        ("ask 3", "inference-lead x4", "      inference-lead interrupted"),
    ],
)
async def test_p7_what_was_open_at_a_kill_is_ended_and_the_tree_goes_on(
    tmp_path: Path, held: str, heard: str, line: str
) -> None:
    with fail_after(120):
        await killed(tmp_path, held, heard)
        await live(str(tmp_path), "task", "")
    lines = tree(read(tmp_path / "told"))
    assert line in lines
    whole = WHOLE if held != "send" else [*WHOLE[:8], UNKNOWN, *WHOLE[9:]]
    assert sorted(_finally(lines)) == sorted(whole)


async def test_p7_a_task_that_is_killed_three_times_is_one_tree(tmp_path: Path) -> None:
    with fail_after(120):
        for held, heard in (("ask 0", "inference-lead"), ("ask 0", "inference-lead x2"), ("send", "tool-send")):
            await killed(tmp_path, held, heard)
        await live(str(tmp_path), "task", "")
    lines = tree(read(tmp_path / "told"))
    assert lines.count("      inference-lead interrupted") == 2
    assert lines.count("      tool-send interrupted") == 1
    assert sorted(_finally(lines)) == sorted([*WHOLE[:8], UNKNOWN, *WHOLE[9:]])
    told = read(tmp_path / "told")
    assert {each.name for each in told if each.what == "event"} == {"recovered"}


async def test_p7_a_step_of_a_plain_workflow_that_was_killed_is_repeated_beside_itself(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, "second", "step-second", "flow")
        await live(str(tmp_path), "flow", "")
    assert tree(read(tmp_path / "told")) == [
        "run-flow-t ok",
        "  workflow-lifecycle ok",
        "    step-first ok",
        "    step-second interrupted",
        "    step-second ok",
    ]


def _finally(lines: Sequence[str]) -> list[str]:
    """The tree without what was interrupted."""
    return [line for line in lines if not line.endswith("interrupted")]
