from collections.abc import Callable

import pytest

from stagepost.hub import HandlerFailed, traceback_text

LIMIT = 70_000


def caught(act: Callable[[], object]) -> BaseException:
    try:
        act()
    except BaseException as error:  # noqa: BLE001  # whatever it is
        return error
    raise AssertionError


def divide() -> float:
    local = "the-value-of-a-local-variable"
    return len(local) / 0


def again() -> None:
    try:
        divide()
    except ZeroDivisionError as error:
        raise ValueError("again") from error


def also() -> None:
    try:
        divide()
    except ZeroDivisionError:
        raise ValueError("also")  # noqa: B904  # the point


def quietly() -> None:
    try:
        divide()
    except ZeroDivisionError:
        raise ValueError("quietly") from None


def grouped() -> None:
    raise BaseExceptionGroup("several", [caught(divide), caught(again), KeyError("k")])


def test_it_has_lines_class_and_text_and_no_local_variables() -> None:
    text = traceback_text(caught(divide))
    assert text.startswith("Traceback (most recent call last):\n")
    assert "in divide\n    return len(local) / 0\n" in text
    assert text.endswith("\nZeroDivisionError: division by zero")
    assert "the-value" not in text


@pytest.mark.parametrize(
    ("act", "parts"),
    [
        (again, ["ZeroDivisionError: division by zero", "direct cause of", "ValueError: again"]),
        (also, ["ZeroDivisionError: division by zero", "During handling of", "ValueError: also"]),
    ],
    ids=["cause", "context"],
)
def test_what_an_error_comes_from_stands_before_it(act: Callable[[], object], parts: list[str]) -> None:
    text = traceback_text(caught(act))
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_suppressed_context_is_left_out() -> None:
    assert "ZeroDivisionError" not in traceback_text(caught(quietly))


def test_the_errors_of_a_group_are_shown_each_with_its_causes() -> None:
    text = traceback_text(caught(grouped))
    assert text.startswith("Exception Group Traceback")
    assert "ExceptionGroup: several (3 sub-exceptions)" in text
    assert "  | ZeroDivisionError: division by zero" in text
    assert "  | ValueError: again" in text
    assert text.endswith("  | KeyError: 'k'")


def test_an_error_that_was_shown_before_is_only_named() -> None:
    error = ValueError("once")
    error.__cause__ = ExceptionGroup("round", [error])
    text = traceback_text(error)
    assert "  | ValueError: once\n  | (shown before)" in text


def test_notes_are_shown() -> None:
    error = ValueError("no")
    error.add_note("on Monday")
    assert traceback_text(error) == "ValueError: no\non Monday"
    error.__notes__ = "odd"  # type: ignore[assignment]  # anybody may
    assert traceback_text(error) == "ValueError: no"


def test_an_error_without_text_is_named() -> None:
    assert traceback_text(ValueError()) == "ValueError"


def test_classes_are_named_with_their_module() -> None:
    assert traceback_text(HandlerFailed("a", "h", ValueError())).endswith("agent 'a' failed in h: ValueError")
    assert "stagepost.hub.errors.HandlerFailed: " in traceback_text(HandlerFailed("a", "h", ValueError()))


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(1)


class Odd(Exception):
    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]  # anybody may
        raise RuntimeError


class Interrupting(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


class InterruptingLater(Exception):
    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]  # anybody may
        raise KeyboardInterrupt


class Disguised(ExceptionGroup[ValueError]):
    """One whose attributes are not what they seem."""

    @property
    def exceptions(self) -> tuple[ValueError, ...]:
        raise RuntimeError

    __cause__ = __context__ = __traceback__ = 5  # type: ignore[assignment]  # anybody may


def test_what_a_subclass_says_of_itself_is_not_believed() -> None:
    text = traceback_text(caught(lambda: raise_(Disguised("group", [ValueError("inner")]))))
    assert text.startswith("Exception Group Traceback")
    assert text.endswith("  | ValueError: inner")


def raise_(error: BaseException) -> None:
    raise error


def test_an_error_that_cannot_say_what_it_is_is_named() -> None:
    assert traceback_text(Mute()).endswith("Mute: <its str() raised SystemExit>")
    assert traceback_text(Odd()) == "Odd (its traceback cannot be written: RuntimeError)"


def test_an_interrupt_passes() -> None:
    for error in (Interrupting(), InterruptingLater()):
        with pytest.raises(KeyboardInterrupt):
            traceback_text(error)


def test_what_cannot_be_written_is_escaped() -> None:
    assert traceback_text(ValueError("a\ud800")) == "ValueError: a\\ud800"


def deep(depth: int) -> None:
    if depth:
        deep_too(depth - 1)
    else:
        divide()


def deep_too(depth: int) -> None:
    deep(depth)


def long_chain() -> BaseException:
    first = error = ValueError("first")
    for number in range(20_000):
        error, cause = ValueError(number), error
        error.__cause__ = cause
    assert first is not error
    return error


def nested() -> BaseException:
    error: Exception = ValueError("innermost")
    for number in range(500):
        error = ExceptionGroup(f"level {number}", [error])
    return error


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (ValueError("a" + "x" * 10_000_000 + "z"), ["ValueError: ax", "xz", "characters are left out"]),
        (caught(lambda: deep(200)), ["in deep_too", "frames are left out", "ZeroDivisionError"]),
        (caught(lambda: deep(10**6)), ["frames are left out", "RecursionError"]),
        (long_chain(), ["earlier exceptions are left out", "ValueError: 19999"]),
        (nested(), ["level 499", "and 1 more exceptions"]),
        (
            ExceptionGroup("wide", [ValueError(n) for n in range(10_000)]),
            ["and 9985 more exceptions", "ValueError: 14"],
        ),
    ],
    ids=["text", "frames", "recursion", "causes", "groups in groups", "wide group"],
)
def test_the_text_is_bounded(error: BaseException, parts: list[str]) -> None:
    text = traceback_text(error)
    assert len(text) < LIMIT
    for part in parts:
        assert part in text


def hide(text: str) -> str:
    return text.replace("hunter2", "***").replace("BEGIN\nEND", "***")


def test_the_text_is_masked() -> None:
    assert traceback_text(ValueError("hunter2"), hide) == "ValueError: ***"


def test_a_secret_of_several_lines_is_found_in_a_group() -> None:
    text = traceback_text(ExceptionGroup("two", [ValueError("BEGIN\nEND")]), hide)
    assert "  | ValueError: ***" in text
    assert "END" not in text


@pytest.mark.parametrize("shift", range(-8, 9))
def test_no_part_of_a_secret_is_left_by_the_cut(shift: int) -> None:
    for place in (32 * 1024 + shift, 48 * 1024 + shift):
        said = "x" * place + "hunter2" + "y" * 200_000
        for text in (said, said[::-1].replace("2retnuh", "hunter2")):
            written = traceback_text(ValueError(text), hide)
            assert set(written.replace("ValueError: ", "").split("\n")[0]) <= set("xy*")
            assert "nter" not in written


def test_a_mask_that_fails_hides_everything() -> None:
    def broken(text: str) -> str:
        raise SystemExit(text)

    assert traceback_text(ValueError("hunter2"), broken) == "(hidden: the mask failed)"
    assert traceback_text(ValueError("hunter2"), lambda _: None) == "(hidden: the mask failed)"  # type: ignore[arg-type,return-value]  # the point


def test_an_interrupt_passes_a_mask() -> None:
    def interrupted(text: str) -> str:
        raise KeyboardInterrupt(text)

    with pytest.raises(KeyboardInterrupt):
        traceback_text(ValueError(), interrupted)
