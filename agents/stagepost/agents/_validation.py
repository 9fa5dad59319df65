"""Pydantic's errors as a person or a model should read them."""

from pydantic import ValidationError


def problems(error: ValidationError) -> str:
    """What is wrong and where, on one line, without the values: those are known or private."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{_where(item['loc'])}{item['msg']}" for item in found)


def _where(path: tuple[int | str, ...]) -> str:
    return f"{'.'.join(map(str, path))}: " if path else ""
