"""The fixtures that pytest finds where stagepost is installed. Nothing is imported before a test asks for one."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from stagepost.agents import ReplayModel
    from stagepost.checkpoint import SqliteStore
    from stagepost.testing import VirtualTime


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--record-models``: ask the models, and record what they answer."""
    parser.getgroup("stagepost").addoption(
        "--record-models",
        action="store_true",
        help="answers that `recorded_model` does not have yet are asked for from the model, and recorded",
    )


@pytest.fixture
def virtual_time() -> "VirtualTime":
    """A clock that stands still until a test advances it; for ``Runner(clock=...)`` and the store."""
    from stagepost.testing import VirtualTime  # noqa: PLC0415  # only if a test asks for it

    return VirtualTime()


@pytest.fixture
def stagepost_store(tmp_path: Path, virtual_time: "VirtualTime") -> "SqliteStore":
    """A store in a file of this test's own, with its `virtual_time`; not entered yet, and enterable again and again."""
    from stagepost.checkpoint import SqliteStore  # noqa: PLC0415  # only if a test asks for it

    return SqliteStore(tmp_path / "runs.db", durability="process", clock=virtual_time)


@pytest.fixture
def recorded_model(request: pytest.FixtureRequest) -> "Callable[[str], ReplayModel]":
    """A function that gives a model whose answers are recorded beside the test, by the model's name.

    The file is ``recordings/MODULE/TEST.jsonl`` in the test's folder; commit it. With ``--record-models`` what is not
    there is asked for from the model, and recorded; without it that is an error.
    """
    from stagepost.agents import ReplayModel  # noqa: PLC0415  # only if a test asks for it

    name = "".join(each if each.isalnum() or each in "-_[]" else "-" for each in request.node.name)
    file = request.path.parent / "recordings" / request.path.stem / f"{name}.jsonl"
    records = bool(request.config.getoption("--record-models"))

    def recorded(model: str) -> ReplayModel:
        if records:
            file.parent.mkdir(parents=True, exist_ok=True)
        return ReplayModel(file, record=model if records else None)

    return recorded
