"""What a runner is given, refused where it is given."""

from datetime import timedelta

from .._runs._run import Run


def check_means(store: object, **times: object) -> None:
    """See that a runner can work with its store, and that times to keep something are some.

    Raises:
        TypeError: It cannot, or is none.
    """
    if not callable(getattr(store, "admit", None)) or isinstance(store, type):
        raise TypeError(f"Runner(store): {store!r:.80} is no store: give SqliteStore(path) or MemoryStore(), opened")
    for name, time in times.items():
        if time is not None and not isinstance(time, timedelta):
            raise TypeError(f"{name}={time!r}: give timedelta(days=…), or None for ever")


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
