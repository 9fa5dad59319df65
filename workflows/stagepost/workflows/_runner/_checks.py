"""What a runner is given, refused where it is given."""

from datetime import timedelta

from .._runs._run import Run


def check_means(store: object, keep_for: object) -> None:
    """See that a runner can work with its store, and that a time to keep runs is one.

    Raises:
        TypeError: It cannot, or is none.
    """
    if not callable(getattr(store, "admit", None)) or isinstance(store, type):
        raise TypeError(f"Runner(store): {store!r:.80} is no store: give SqliteStore(path) or MemoryStore(), opened")
    if keep_for is not None and not isinstance(keep_for, timedelta):
        raise TypeError(f"keep_for={keep_for!r}: give timedelta(days=…), or None to keep runs for ever")


def check_id(given: str, what: str = "a run") -> str:
    """See that something is an id, and not the thing that has it.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(given, str):
        has_it = hasattr(given, "id") and isinstance(given, Run) is (what == "a run")
        hint = f"give its .id, {given.id!r}" if has_it else "give a text"
        raise TypeError(f"the id of {what} is wanted, and not a {type(given).__name__}: {hint}")
    return given
