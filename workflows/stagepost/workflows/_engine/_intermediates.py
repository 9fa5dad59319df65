"""The states that a run goes through, for those who ask for them."""

from typing import Any, NamedTuple

from ._branch import Branch


class Intermediate(NamedTuple):
    """The state behind a step.

    Attributes:
        path: Which step, item or fan-out has made it; empty for what the run started with.
        state: As the next step sees it.
    """

    path: str
    state: Any


def keep(branch: Branch, path: str) -> None:
    """Note the state that a branch has now, if somebody wants to know."""
    wanted = branch.execution.intermediates
    if wanted is not None:
        wanted.append(Intermediate(path, branch.view()))
