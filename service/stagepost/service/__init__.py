"""What operators use: the command ``stagepost``, and the service, which has runs over HTTP.

Importing this package imports nothing else: its names are loaded when they are used.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._http._app import create_app
    from ._http._limits import RequestLimits
    from ._http._serving import Serving, caller, serving
    from ._http._streams import EventStream
    from ._keys._caller import Caller
    from ._keys._key import Key, Scope, new_key, parse_keys

__all__ = [
    "Caller",
    "EventStream",
    "Key",
    "RequestLimits",
    "Scope",
    "Serving",
    "caller",
    "create_app",
    "new_key",
    "parse_keys",
    "serving",
]

_WHERE: Final = MappingProxyType(
    {
        "Caller": "_keys._caller",
        "EventStream": "_http._streams",
        "Key": "_keys._key",
        "RequestLimits": "_http._limits",
        "Scope": "_keys._key",
        "Serving": "_http._serving",
        "caller": "_http._serving",
        "create_app": "_http._app",
        "new_key": "_keys._key",
        "parse_keys": "_keys._key",
        "serving": "_http._serving",
    }
)


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
