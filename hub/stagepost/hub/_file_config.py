"""Validated configuration from code or a file."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import InvalidConfig


class FileConfig(BaseModel):
    """Base of configurations: frozen, strict about unknown names, read from JSON or TOML, merged without loss."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def load(cls, path: Path | str, *, table: str | None = None) -> Self:
        """Read a file, JSON or TOML by its suffix.

        Args:
            path: The file.
            table: The table or key that holds the configuration, with dots for nested ones; None for the whole file.

        Raises:
            InvalidConfig: It cannot be read or used.
        """
        source = Path(path)
        try:
            text = source.read_text(encoding="utf-8")
            found = json.loads(text) if source.suffix == ".json" else tomllib.loads(text)
            for key in table.split(".") if table else ():
                found = found[key]
        except OSError as error:
            raise InvalidConfig(str(path), f"it cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise InvalidConfig(str(path), f"it is not {source.suffix[1:].upper()} ({error})") from error
        except (KeyError, TypeError) as error:
            raise InvalidConfig(str(path), f"it has no table {table!r}") from error
        return cls._checked(str(path), found)

    def merge(self, changes: Self | Mapping[str, object]) -> Self:
        """This configuration with changes: values set explicitly win, including false, zero, None and defaults.

        Raises:
            InvalidConfig: A change cannot be used.
        """
        if isinstance(changes, FileConfig):
            changes = {name: getattr(changes, name) for name in changes.model_fields_set}
        mine = {name: getattr(self, name) for name in self.model_fields_set}
        return self._checked("to merge", {**mine, **changes})

    @classmethod
    def _checked(cls, source: str, found: object) -> Self:
        try:
            return cls.model_validate(found)
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, e['loc'])) or 'it'}: {e['msg']}" for e in error.errors())
            raise InvalidConfig(source, "; ".join(problems)) from None
