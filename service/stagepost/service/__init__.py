"""What operators use: the command ``stagepost``, and the service, which has runs over HTTP.

Importing this package imports nothing else: its names are loaded when they are used.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._app import create_app
    from ._http._bodies import read_json
    from ._http._checks import model_check, prompts_check, tracing_check
    from ._http._health import HealthCheck
    from ._http._limits import RequestLimits
    from ._http._oauth import oauth_routes
    from ._http._pages._pages import page
    from ._http._serving import Serving, caller, serving
    from ._http._settings import ServiceSettings
    from ._http._streams import EventStream
    from ._keys._caller import Caller
    from ._keys._key import Key, Scope, new_key, parse_keys

__all__ = [
    "Caller",
    "EventStream",
    "HealthCheck",
    "Key",
    "RequestLimits",
    "Scope",
    "ServiceSettings",
    "Serving",
    "caller",
    "create_app",
    "model_check",
    "new_key",
    "oauth_routes",
    "page",
    "parse_keys",
    "prompts_check",
    "read_json",
    "serving",
    "tracing_check",
]

_WHERE: Final = MappingProxyType(
    {
        "Caller": "_keys._caller",
        "EventStream": "_http._streams",
        "HealthCheck": "_http._health",
        "Key": "_keys._key",
        "RequestLimits": "_http._limits",
        "Scope": "_keys._key",
        "ServiceSettings": "_http._settings",
        "Serving": "_http._serving",
        "caller": "_http._serving",
        "create_app": "_app",
        "model_check": "_http._checks",
        "new_key": "_keys._key",
        "oauth_routes": "_http._oauth",
        "page": "_http._pages._pages",
        "parse_keys": "_keys._key",
        "prompts_check": "_http._checks",
        "read_json": "_http._bodies",
        "serving": "_http._serving",
        "tracing_check": "_http._checks",
    }
)


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._extras import loaded  # noqa: PLC0415  # importing this package imports nothing else

    return getattr(loaded(f"{__name__}.{_WHERE[name]}", f"stagepost.service.{name}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
