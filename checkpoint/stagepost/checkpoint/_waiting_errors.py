"""What concerns waits, and what was sent to end them."""

from collections.abc import Sequence

from ._root_error import CheckpointError


class WaitNotFound(CheckpointError, LookupError):
    """The run does not wait for an answer at this place, and never has; or what was given is no id of a wait.

    Attributes:
        run_id: The run.
        place: The step; empty if the id names none.
        near: Ids of open waits that may have been meant.
    """

    def __init__(self, run_id: str, place: str, instead: str = "", *, near: Sequence[str] = ()) -> None:
        what = f"run {run_id!r} has no wait {place!r} that takes an answer"
        if not place:
            what = f"{run_id!r} is no id of a wait, which is made of the run and the place: run/place"
        known = f"; open is {', '.join(near)}" if near else ": the inbox lists those there are"
        super().__init__(f"{what}: {instead}" if instead else f"{what}{known}")
        self.run_id = run_id
        self.place = place
        self.near = tuple(near)


class AlreadyAnswered(CheckpointError):
    """Somebody else's answer came first, or the time was up.

    Attributes:
        run_id: The run.
        place: The step that waited.
        status: ``answered`` or ``expired``.
    """

    def __init__(self, run_id: str, place: str, status: str) -> None:
        super().__init__(f"the wait {place!r} of run {run_id!r} is {status} already: this answer does not count")
        self.run_id = run_id
        self.place = place
        self.status = status


class EffectNotFound(CheckpointError, LookupError):
    """No effect of this key is in doubt.

    Attributes:
        run_id: The run.
        key: The effect's key.
        place: The step, if it was given.
    """

    def __init__(
        self, run_id: str, key: str, place: str | None, instead: str = "it is settled, or never began"
    ) -> None:
        where = "" if place is None else f" at {place!r}"
        super().__init__(f"run {run_id!r} has no effect {key!r} in doubt{where}: {instead}")
        self.run_id = run_id
        self.key = key
        self.place = place
