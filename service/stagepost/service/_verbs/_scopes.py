"""What each verb takes: the one table, and the one place that checks it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from types import MappingProxyType
from typing import Concatenate, Final, ParamSpec, TypeVar

from .._keys._caller import Caller
from .._keys._key import Scope
from ..errors import InputRefused

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

SCOPES: Final[Mapping[str, Scope]] = MappingProxyType(
    {
        "get": Scope.READ,
        "list": Scope.READ,
        "count": Scope.READ,
        "history": Scope.READ,
        "stream": Scope.READ,
        "heard_all": Scope.READ,
        "watch": Scope.READ,
        "waits": Scope.READ,
        "workflows": Scope.READ,
        "schedules": Scope.READ,
        "conversation": Scope.READ,
        "inspect": Scope.READ,
        "state": Scope.READ,
        "schema": Scope.READ,
        "check": Scope.READ,
        "version": Scope.READ,
        "bell": Scope.READ,
        "acts": Scope.READ,
        "hub": Scope.READ,
        "letter": Scope.READ,
        "resends": Scope.READ,
        "start": Scope.RUN,
        "start_stream": Scope.RUN,
        "follow_up": Scope.RUN,
        "say": Scope.RUN,
        "say_stream": Scope.RUN,
        "tell": Scope.RUN,
        "signal": Scope.RUN,
        "cancel": Scope.RUN,
        "resume": Scope.RUN,
        "answer": Scope.DECIDE,
        "settle": Scope.DECIDE,
        "settle_wait": Scope.DECIDE,
        "fork": Scope.ADMIN,
        "retry_items": Scope.ADMIN,
        "delete": Scope.ADMIN,
        "pause_schedule": Scope.ADMIN,
        "resume_schedule": Scope.ADMIN,
        "delete_schedule": Scope.ADMIN,
        "resend": Scope.ADMIN,
    }
)


def verb(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, Caller, P], T]:
    """A method that is refused to whoever may not use it: callers give who asks, and it takes the rest.

    Its name is in `SCOPES`.
    """
    scope = SCOPES[method.__name__]

    @wraps(method)
    def checked(self: S, caller: Caller, /, *args: P.args, **kwargs: P.kwargs) -> T:
        caller.require(scope)
        return method(self, *args, **kwargs)

    return checked


def verb_by(method: Callable[Concatenate[S, Caller, P], T]) -> Callable[Concatenate[S, Caller, P], T]:
    """The same of a method that takes who asks, since that is stored."""
    scope = SCOPES[method.__name__]

    @wraps(method)
    def checked(self: S, caller: Caller, /, *args: P.args, **kwargs: P.kwargs) -> T:
        caller.require(scope)
        return method(self, caller, *args, **kwargs)

    return checked


@contextmanager
def misuse() -> Iterator[None]:
    """Take a plain `ValueError` of the library for a mistake of whoever asks; its errors have classes of their own.

    Raises:
        InputRefused: There was one.
    """
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise InputRefused(str(error)) from error
