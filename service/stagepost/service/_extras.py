"""Modules that need the extra ``serve``: loaded when they are used."""

from importlib import import_module
from types import ModuleType
from typing import Final

_PACKAGES: Final = frozenset(
    {"h11", "jinja2", "limits", "python_multipart", "sse_starlette", "starlette", "uvicorn"}  # what the extra brings
)


def loaded(module: str, what: str) -> ModuleType:
    """A module of this layer.

    Args:
        module: Its name.
        what: What needs it, for the error.

    Raises:
        ExtraMissing: It needs a package that is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        from stagepost.workflows.errors import ExtraMissing  # noqa: PLC0415  # only if something is missing

        raise ExtraMissing(what, error.name, "serve") from error
