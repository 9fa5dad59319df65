"""Errors that misbehave when somebody looks at them, and all those that come with Python."""

import asyncio
import builtins
from typing import Any, NoReturn


class Odd(Exception):
    """An error of an application."""


class OddBase(BaseException):
    """One that is no `Exception`."""


class Cancelled(BaseException):
    """One that is only called like a cancellation."""


class MuteError(Exception):
    def __str__(self) -> str:
        raise Odd("no str")

    def __repr__(self) -> str:
        raise Odd("no repr")


class RudeError(Exception):
    def __str__(self) -> str:
        raise SystemExit("no str")

    __repr__ = __str__


class NumberError(Exception):
    def __str__(self) -> str:
        return 42  # type: ignore[return-value]  # noqa: PLE0307 - that is the trick


def lying(about: type[BaseException]) -> BaseException:
    class LyingError(Exception):
        @property
        def __class__(self) -> Any:
            return about

        @__class__.setter
        def __class__(self, value: Any) -> None:
            raise Odd

    return LyingError("lies")


class ClasslessError(Exception):
    @property
    def __class__(self) -> Any:
        raise Odd("no class")

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise Odd


class UnequalError(Exception):
    def __eq__(self, other: object) -> bool:
        raise Odd("no eq")

    def __hash__(self) -> int:
        raise Odd("no hash")

    def __bool__(self) -> bool:
        raise Odd("no bool")


class ClosedError(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise Odd(f"no {name}")


class FrozenError(Exception):
    def __setattr__(self, name: str, value: object) -> None:
        raise Odd(f"{name} is not for you")


class SplitlessGroup(ExceptionGroup[Exception]):
    def split(self, *_: Any) -> NoReturn:
        raise Odd("no split")

    def subgroup(self, *_: Any) -> NoReturn:
        raise Odd("no subgroup")


class OddlyDerived(BaseExceptionGroup[BaseException]):
    def derive(self, _: Any) -> Any:
        return 42


class _NamelessMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        if name in ("__qualname__", "__name__", "__module__"):
            raise Odd(f"no {name}")
        return super().__getattribute__(name)


class NamelessError(Exception, metaclass=_NamelessMeta):
    pass


def circular() -> Exception:
    one, other = Odd("one"), Odd("other")
    one.__cause__, other.__cause__ = other, one
    one.__context__, other.__context__ = other, one
    return one


def deep_group() -> BaseException:
    error: BaseException = SystemExit(1)
    for _ in range(3000):
        error = BaseExceptionGroup("deep", [error])
    return error


def mixed_group() -> BaseException:
    return BaseExceptionGroup(
        "mixed",
        [Odd(), SystemExit(1), GeneratorExit(), ExceptionGroup("inner", [MuteError()]), asyncio.CancelledError()],
    )


def builtin_errors() -> list[type[BaseException]]:
    """Every error that comes with Python but `KeyboardInterrupt`."""
    found = {cls for cls in vars(builtins).values() if isinstance(cls, type) and issubclass(cls, BaseException)}
    return sorted(found - {KeyboardInterrupt}, key=lambda cls: cls.__name__)


def made(cls: type[BaseException]) -> BaseException:
    if issubclass(cls, BaseExceptionGroup):
        return cls("group", [ValueError()])
    if issubclass(cls, UnicodeDecodeError):
        return cls("utf-8", b"x", 0, 1, "no")
    if issubclass(cls, UnicodeEncodeError):
        return cls("utf-8", "x", 0, 1, "no")
    if issubclass(cls, UnicodeTranslateError):
        return cls("x", 0, 1, "no")
    return cls()
