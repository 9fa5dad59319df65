"""Settings of the service, from variables of the environment: all are checked before anything starts."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias, TypedDict

from limits import parse_many
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SecretStr,
    ValidationError,
)

from .._keys._key import Key, checked_keys, parse_keys
from ..errors import InvalidKey, InvalidServiceSettings
from ._limits import RequestLimits
from ._origins import checked_origin

PREFIX: Final = "STAGEPOST_"
HIDDEN: Final[dict[str, JsonValue]] = {"hidden": True}  # of fields whose values are never shown
_SHORTEST_SECRET: Final = 32


def _words(given: object) -> object:
    return given.replace(",", " ").split() if isinstance(given, str) else given


def _keys(given: object) -> object:
    return parse_keys(given) if isinstance(given, str) else given


def _rate(given: object) -> object:
    text = str(given).strip()
    text = f"{text}/minute" if text.isdecimal() else text
    parse_many(text)
    return text


def _level(given: object) -> object:
    if isinstance(given, str) and given.upper() in logging.getLevelNamesMapping():
        return given.lower()
    raise ValueError("there is no such level")


def _secret(given: SecretStr) -> SecretStr:
    if len(given.get_secret_value()) < _SHORTEST_SECRET:
        raise ValueError("it is too short")
    return given


Words: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_words)]
Origins: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(checked_origin)], ...], BeforeValidator(_words)]
Rate: TypeAlias = Annotated[str, BeforeValidator(_rate)]


class AppSettings(TypedDict):
    """Arguments of `create_app` that settings say."""

    keys: tuple[Key, ...]
    limits: RequestLimits
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    login_secret: str | None
    has_docs: bool
    inspector: bool


class ServiceSettings(BaseModel):
    """How a service is set up. Each field is read from a variable, such as ``STAGEPOST_PORT``.

    One with more fields is a subclass: what a field takes is its ``description``; ``json_schema_extra=HIDDEN`` keeps
    its value out of errors.

    Attributes:
        stage: What it is for. In production the routes are not described (see `docs`).
        log_level: From which level on the log is written.
        host: Where it listens. Beyond this machine it needs keys.
        port: On which port; 0 for any that is free.
        keys: Who may ask for what, as `stagepost keys new` prints it, separated by spaces or in lines.
        keys_file: A file with such lines.
        hosts: The names by which it is asked for; requests for others are refused. By default any.
        origins: Sites whose pages may ask it (CORS); by default none.
        proxies: Addresses of proxies that say where requests come from (``X-Forwarded-For``); by default none.
        rate: How often a caller may ask: a number for each minute, or such as ``10/second; 600/minute``.
        max_body: The most bytes of a request's body.
        max_streams: How many streams may be open.
        max_streams_per_caller: How many of them one caller may have.
        docs: Whether it describes its routes (``/openapi.json``); by default not in production.
        inspector: Whether the inspector is at ``/inspect``.
        grace: Seconds that runs get to save what they do when the service ends.
        login_secret: Signs logins at pages, so that they outlive the process: at least 32 random characters.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    stage: Literal["development", "qa", "production"] = Field(
        default="development", description="development, qa or production"
    )
    log_level: Annotated[str, BeforeValidator(_level)] = Field(
        default="info", description="debug, info, warning, error or critical"
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="where to listen, such as 127.0.0.1 or 0.0.0.0")
    port: int = Field(default=8000, ge=0, le=65_535, description="a number from 0 to 65535")
    keys: Annotated[tuple[Key, ...], BeforeValidator(_keys)] = Field(
        default=(),
        description="what `stagepost keys new` prints, several separated by spaces",
        json_schema_extra=HIDDEN,
    )
    keys_file: Path | None = Field(default=None, description="the path of a file with keys")
    hosts: Words = Field(default=(), description="names of hosts separated by commas, such as runs.example.com")
    origins: Origins = Field(default=(), description="sites separated by commas, such as https://app.example.com")
    proxies: Words = Field(default=(), description="addresses of proxies separated by commas, such as 10.0.0.5")
    rate: Rate = Field(default="600/minute", description="a number for each minute, or such as 10/second")
    max_body: int = Field(default=4 * 2**20, ge=1, description="a number of bytes, at least 1")
    max_streams: int = Field(default=1_000, ge=1, description="a number, at least 1")
    max_streams_per_caller: int = Field(default=100, ge=1, description="a number, at least 1")
    docs: bool | None = Field(default=None, description="true or false")
    inspector: bool = Field(default=True, description="true or false")
    grace: float = Field(default=10.0, ge=0, le=3_600, description="seconds, from 0 to 3600")
    login_secret: Annotated[SecretStr, AfterValidator(_secret)] | None = Field(
        default=None, description="at least 32 random characters", json_schema_extra=HIDDEN
    )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: object) -> Self:
        """Read and check them all.

        Args:
            environment: The variables; by default those of the process. One that is empty counts as not set.
            **given: Values that come before the variables; None counts as not given.

        Raises:
            InvalidServiceSettings: Some do not fit. The message names each variable and says what it takes; it does not
                show what was given as a key or a secret.
        """
        variables = os.environ if environment is None else environment
        found = {name: variables.get(PREFIX + name.upper()) for name in cls.model_fields}
        values: dict[str, object] = {name: value for name, value in found.items() if value}
        values.update({name: value for name, value in given.items() if value is not None})
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise InvalidServiceSettings(cls._problem(str(each["loc"][0]), values) for each in error.errors()) from None

    @property
    def limits(self) -> RequestLimits:
        """What a caller may ask for."""
        return RequestLimits(
            requests=self.rate,
            body=self.max_body,
            streams=self.max_streams,
            streams_per_caller=self.max_streams_per_caller,
        )

    @property
    def has_docs(self) -> bool:
        """Whether the routes are described."""
        return self.stage != "production" if self.docs is None else self.docs

    def all_keys(self) -> tuple[Key, ...]:
        """The keys, with those of the file.

        Raises:
            InvalidServiceSettings: The file cannot be read, has something else, or two keys have one name.
        """
        if self.keys_file is None:
            return checked_keys(self.keys)
        try:
            return checked_keys([*self.keys, *parse_keys(self.keys_file.read_text())])
        except OSError as error:
            problem = f"cannot be read ({error.strerror}): give a file with the lines that `stagepost keys new` prints"
        except UnicodeDecodeError:
            problem = "is no text: give a file with the lines that `stagepost keys new` prints"
        except InvalidKey as error:
            problem = str(error)
        raise InvalidServiceSettings([f"{PREFIX}KEYS_FILE {self.keys_file}: {problem}"])

    def app_options(self) -> "AppSettings":
        """What `create_app` is given of the settings: ``create_app(runner, **settings.app_options())``.

        Raises:
            InvalidServiceSettings: The file of keys cannot be used.
            InvalidKey: Two keys have one name.
        """
        return {
            "keys": self.all_keys(),
            "limits": self.limits,
            "hosts": self.hosts,
            "origins": self.origins,
            "login_secret": None if self.login_secret is None else self.login_secret.get_secret_value(),
            "has_docs": self.has_docs,
            "inspector": self.inspector,
        }

    @classmethod
    def _problem(cls, name: str, values: Mapping[str, object]) -> str:
        field = cls.model_fields.get(name)
        if field is None:
            return f"{name} is no setting: there are {', '.join(cls.model_fields)}"
        is_hidden = field.json_schema_extra == HIDDEN
        shown = "" if is_hidden else f"={str(values.get(name))!r:.80}"
        return f"{PREFIX}{name.upper()}{shown} does not fit: give {field.description}"
