"""Modules that need the extras ``serve`` and ``assistant``: loaded when they are used."""

from importlib import import_module
from types import ModuleType
from typing import Final

_PACKAGES: Final = frozenset(
    {  # what the extras bring
        *("h11", "jinja2", "limits", "python_multipart", "sse_starlette", "starlette", "uvicorn"),
        *("linkify_it", "markdown_it", "regex", "yaml"),
    }
)


def loaded(module: str, what: str, *, extra: str = "serve") -> ModuleType:
    """A module of this layer.

    Args:
        module: Its name.
        what: What needs it, for the error.
        extra: The extra that brings what it needs.

    Raises:
        ExtraMissing: It needs a package that is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        from stagepost.workflows.errors import ExtraMissing  # noqa: PLC0415  # only if something is missing

        raise ExtraMissing(what, error.name, extra) from error
