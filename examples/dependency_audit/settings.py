"""The policy's settings: what may be said in a policy file, and reading one."""

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails

from .errors import InvalidPolicy
from .models import Severity, Value

Level = Literal[Severity, "off"]
"""How severe a violation of a rule is, or that the rule is off."""

DEFAULT_POLICY = Path(__file__).with_name("policy.toml")
"""The commented file that spells out every default."""


class LicenceSettings(Value):
    """Patterns of licences; see `policy.toml` for each."""

    allowed: list[str] = Field(default=[])
    denied: list[str] = Field(default=["AGPL*", "GPL*", "SSPL*", "BUSL*", "Proprietary*"])
    review: list[str] = Field(default=["LGPL*", "MPL*", "EPL*", "CDDL*", "EUPL*"])


class FileSettings(Value):
    """What is minded about files; see `policy.toml` for each."""

    ignored: list[str] = Field(default=[])
    max_size_mb: int = Field(default=100, gt=0)


class SeveritySettings(Value):
    """The level of every rule: one field each, named as the rule."""

    file_changed: Level = "high"
    file_missing: Level = "medium"
    file_unreadable: Level = "medium"
    licence_denied: Level = "high"
    licence_unknown: Level = "medium"
    licence_review: Level = "info"
    metadata_broken: Level = "medium"
    installed_twice: Level = "medium"
    python_excluded: Level = "high"
    unverifiable: Level = "low"
    too_large: Level = "low"
    native_code: Level = "off"
    untyped: Level = "off"
    editable: Level = "info"


class Policy(Value):
    """Everything that the audit minds, and how much."""

    licence: LicenceSettings = LicenceSettings()
    files: FileSettings = FileSettings()
    severity: SeveritySettings = SeveritySettings()


def load_policy(path: str | Path = DEFAULT_POLICY) -> Policy:
    """Read a policy file; keys that it does not hold keep their defaults.

    Args:
        path: A TOML file of the form of `policy.toml`.

    Raises:
        InvalidPolicy: The file cannot be read, is not TOML, or has a key or a value that is not allowed.
    """
    try:
        with Path(path).open("rb") as file:
            settings = tomllib.load(file)
    except OSError as error:
        raise InvalidPolicy(path, [f"it cannot be read ({error.strerror})"]) from error
    except ValueError as error:  # bytes that are not UTF-8, or text that is not TOML
        raise InvalidPolicy(path, [f"it is not valid TOML ({error})"]) from error
    try:
        return Policy.model_validate(settings, strict=True)
    except ValidationError as error:
        raise InvalidPolicy(path, [_problem(details) for details in error.errors()]) from error


def _problem(details: ErrorDetails) -> str:
    key = ".".join(str(part) for part in details["loc"])
    if details["type"] == "extra_forbidden":
        return f"{key!r} is no key of a policy, allowed here are {', '.join(_keys_beside(details))}"
    if details["type"] == "literal_error":
        return f"{key!r} is {details['input']!r}, allowed are {details['ctx']['expected']}"
    if details["type"] == "model_type":
        return f"{key!r} is {details['input']!r}, and must be a table"
    return f"{key!r} is {details['input']!r}: {details['msg'][0].lower()}{details['msg'][1:]}"


def _keys_beside(details: ErrorDetails) -> list[str]:
    """Return the keys that the table with the unknown key may have."""
    table: type[BaseModel] = Policy
    for part in details["loc"][:-1]:
        inner = table.model_fields[str(part)].annotation
        table = inner if isinstance(inner, type) and issubclass(inner, BaseModel) else table
    return sorted(table.model_fields)
