"""The text of an error's traceback: without local variables, masked, and bounded in length."""

from collections.abc import Callable, Iterator
from traceback import extract_tb
from types import TracebackType
from typing import Final

from ._masks import masked

_LONGEST: Final = 64 * 1024
_WINDOW: Final = 16 * 1024  # longer than any secret: a secret at the cut is masked before the text is cut
_MOST_ERRORS: Final = 100
_MOST_FRAMES: Final = 100
_MOST_NOTES: Final = 15
_MOST_IN_GROUP: Final = 15
_DEEPEST_GROUP: Final = 10

# Read through the descriptors of the base classes, because a subclass may have replaced them.
_cause_of: Final = vars(BaseException)["__cause__"].__get__
_context_of: Final = vars(BaseException)["__context__"].__get__
_is_suppressed: Final = vars(BaseException)["__suppress_context__"].__get__
_traceback_of: Final = vars(BaseException)["__traceback__"].__get__
_members_of: Final = vars(BaseExceptionGroup)["exceptions"].__get__
_name_of: Final = vars(type)["__qualname__"].__get__

_CAUSED: Final = "\nThe above exception was the direct cause of the following exception:\n\n"
_DURING: Final = "\nDuring handling of the above exception, another exception occurred:\n\n"


def traceback_text(error: BaseException, mask: Callable[[str], str] | None = None) -> str:
    """Return an error's traceback, with its causes and groups, as Python prints it but without local variables.

    It never raises. For an error whose ``str()`` raises only the class is shown; of a text longer than 64 KB only
    the beginning and the end.

    Args:
        error: The error.
        mask: Masks secrets in the text. If it raises, the whole text is hidden.
    """
    try:
        text = "".join(_Writer(mask).chain(error, depth=0)).rstrip("\n")
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # noqa: BLE001 - an error is somebody else's code, and this is what tells of it
        text = f"{_name_of(type(error))} (its traceback cannot be written: {_name_of(type(failure))})"
    return _bounded(text, mask)


def _bounded(text: str, mask: Callable[[str], str] | None) -> str:
    """The masked text, or its masked beginning and end."""
    if len(text) <= _LONGEST:
        return masked(text, mask)
    half = _LONGEST // 2
    head, tail = masked(text[: half + _WINDOW], mask), masked(text[-half - _WINDOW :], mask)
    left_out = len(text) - _LONGEST
    return f"{head[:-_WINDOW][:half]}\n… {left_out} characters are left out …\n{tail[_WINDOW:][-half:]}"


class _Writer:
    """Writes one error and its causes, up to a limit."""

    def __init__(self, mask: Callable[[str], str] | None) -> None:
        self._mask = mask
        self._seen: set[int] = set()

    def chain(self, error: BaseException, *, depth: int) -> Iterator[str]:
        """An error after its causes, oldest first."""
        links: list[tuple[BaseException, str]] = []
        link: BaseException | None = error
        joint = ""
        while link is not None and id(link) not in self._seen and len(self._seen) < _MOST_ERRORS:
            self._seen.add(id(link))
            links.append((link, joint))
            link, joint = _origin(link)
        if link is not None and len(self._seen) >= _MOST_ERRORS:
            yield "(earlier exceptions are left out)\n"
        for link, joint in reversed(links):
            yield from self._one(link, depth)
            yield joint

    def _one(self, error: BaseException, depth: int) -> Iterator[str]:
        group = _members_of(error) if issubclass(type(error), BaseExceptionGroup) else ()
        traceback = _traceback_of(error)
        if traceback is not None:
            yield f"{'Exception Group ' if group else ''}Traceback (most recent call last):\n"
            yield from _frames(traceback)
        yield self._title(error)
        shown = group[:_MOST_IN_GROUP] if depth < _DEEPEST_GROUP else ()
        for number, inner in enumerate(shown, 1):
            yield f"  +---------------- {number} ----------------\n"
            yield "".join(f"  | {line}\n" for line in self._inner(inner, depth + 1).splitlines())
        if len(shown) < len(group):
            yield f"  +---------------- and {len(group) - len(shown)} more exceptions\n"

    def _inner(self, error: BaseException, depth: int) -> str:
        """An error of a group."""
        if id(error) in self._seen:
            return f"{self._title(error)}(shown before)"
        return "".join(self.chain(error, depth=depth))

    def _title(self, error: BaseException) -> str:
        """The class of an error, its text, and its notes; masked here, before the lines of a group are indented."""
        cls = type(error)
        name = _name_of(cls) if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}.{_name_of(cls)}"
        notes = getattr(error, "__notes__", None)
        said = (error, *(notes[:_MOST_NOTES] if isinstance(notes, list) else ()))
        text, *more = (_bounded(_text_of(thing), self._mask) for thing in said)
        return "".join(f"{line}\n" for line in (f"{name}: {text}" if text else name, *more))


def _frames(traceback: TracebackType) -> Iterator[str]:
    """The lines of a traceback; for a very deep one, those at both ends."""
    depth, entry = 0, traceback
    while entry.tb_next is not None:
        depth, entry = depth + 1, entry.tb_next
    if depth < _MOST_FRAMES:
        yield from extract_tb(traceback).format()
        return
    half = _MOST_FRAMES // 2
    yield from extract_tb(traceback, half).format()
    yield f"  … {depth + 1 - _MOST_FRAMES} frames are left out …\n"
    yield from extract_tb(traceback, -half).format()


def _origin(error: BaseException) -> tuple[BaseException | None, str]:
    """The cause or context of an error, and the sentence between the two."""
    cause = _cause_of(error)
    if cause is not None:
        return cause, _CAUSED
    return (None if _is_suppressed(error) else _context_of(error)), _DURING


def _text_of(thing: object) -> str:
    """The text of something, in characters that can be encoded."""
    try:
        return str(thing).encode(errors="backslashreplace").decode()
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # noqa: BLE001 - whatever its str() raises
        return f"<its str() raised {_name_of(type(failure))}>"
