"""Settings of a supervisor, from variables of the environment: all are checked before anything starts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from stagepost.agents import Langfuse, Tracing

from .._http._settings import HIDDEN, Rate, ServiceSettings
from .._keys._key import Key, Scope, checked_keys
from ._config import TurnLimits, WorkerConfig
from ._guardrails import Guardrails
from ._traces import session_traces

_KEY: Final = "api"
_SCOPES: Final = (Scope.READ, Scope.RUN, Scope.DECIDE)
_SECONDS: Final = "seconds, more than 0"


class SupervisorSettings(ServiceSettings):
    """How a supervisor is set up. Each field is read from a variable, such as ``STAGEPOST_SUPERVISOR_MODEL``.

    Attributes:
        rate: How often a caller may ask; by default 60 times a minute.
        api_key: The secret of the one key of the service, which may read, run and decide; beside `keys`, if there are.
        store: Where sessions are kept.
        supervisor_model: The supervisor's model.
        supervisor_timeout: Seconds that one question to it may take.
        worker_model: The model of workers.
        worker_timeout: Seconds that one question to it may take.
        worker_iterations: How often it may answer for one request.
        worker_deadline: Seconds that one request to a worker may take in all.
        turn_deadline: Seconds that a turn may take.
        turn_grace: Seconds without a reader after which a turn is cancelled.
        busy_sessions: Whether a message to a session that is still answering waits, or is refused.
        guardrails: What becomes of doubtful answers: they are logged, refused, or not looked at.
        langfuse_public_key: Traces go to Langfuse with this key, and the next two.
        langfuse_secret_key: Its secret.
        langfuse_host: Where Langfuse is.
    """

    rate: Rate = Field(default="60/minute", description="a number for each minute, or such as 10/second")
    api_key: SecretStr | None = Field(
        default=None,
        description="16 to 512 characters without spaces",
        json_schema_extra=HIDDEN,
    )
    store: Path = Field(default=Path("sessions.db"), description="the path of a database")
    supervisor_model: str = Field(default="gpt-5-mini", min_length=1, description="the name of a model")
    supervisor_timeout: float = Field(default=30.0, gt=0, description=_SECONDS)
    worker_model: str = Field(default="gpt-5-nano", min_length=1, description="the name of a model")
    worker_timeout: float = Field(default=60.0, gt=0, description=_SECONDS)
    worker_iterations: int = Field(default=5, ge=1, description="a number, at least 1")
    worker_deadline: float = Field(default=120.0, gt=0, description=_SECONDS)
    turn_deadline: float = Field(default=300.0, gt=0, description=_SECONDS)
    turn_grace: float = Field(default=30.0, ge=0, description="seconds, at least 0")
    busy_sessions: Literal["wait", "refuse"] = Field(default="wait", description="wait or refuse")
    guardrails: Literal["warn", "refuse", "off"] = Field(default="warn", description="warn, refuse or off")
    langfuse_public_key: str | None = Field(default=None, description="the public key of a project")
    langfuse_secret_key: SecretStr | None = Field(
        default=None,
        description="the secret key of the project, with the public one",
        json_schema_extra=HIDDEN,
        validate_default=True,
    )
    langfuse_host: str | None = Field(
        default=None, pattern=r"^https?://", description="an address such as https://host"
    )

    @field_validator("api_key")
    @classmethod
    def _usable(cls, given: SecretStr | None) -> SecretStr | None:
        """See that it can be a key."""
        if given is not None:
            Key.of(given.get_secret_value(), name=_KEY, scopes=_SCOPES)
        return given

    @field_validator("langfuse_secret_key")
    @classmethod
    def _paired(cls, given: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """See that Langfuse has both keys, or none."""
        if (given is None) is not (info.data.get("langfuse_public_key") is None):
            raise ValueError("one of the two keys is missing")
        return given

    @property
    def turns(self) -> TurnLimits:
        """How long turns may take."""
        return TurnLimits(deadline=self.turn_deadline, grace=self.turn_grace, waits=self.busy_sessions == "wait")

    def all_keys(self) -> tuple[Key, ...]:
        """The keys, with those of the file and the one key of the service.

        Raises:
            InvalidServiceSettings: The file cannot be read.
            InvalidKey: Two keys have one name.
        """
        own = () if self.api_key is None else (Key.of(self.api_key.get_secret_value(), name=_KEY, scopes=_SCOPES),)
        return checked_keys([*super().all_keys(), *own])

    def worker(self, config: WorkerConfig) -> WorkerConfig:
        """A worker with the model and the limits of the settings."""
        return config.model_copy(
            update={
                "model": self.worker_model,
                "timeout": self.worker_timeout,
                "max_iterations": self.worker_iterations,
                "deadline": self.worker_deadline,
            }
        )

    def new_guardrails(self) -> Guardrails | None:
        """The guardrails of a supervisor; None for none."""
        return None if self.guardrails == "off" else Guardrails(refuses=self.guardrails == "refuse")

    def tracing(self, workers: Iterable[WorkerConfig]) -> Tracing | None:
        """Where traces go; None for nowhere."""
        if self.langfuse_public_key is None or self.langfuse_secret_key is None:
            return None
        secret = self.langfuse_secret_key.get_secret_value()
        provider = Langfuse(public_key=self.langfuse_public_key, secret_key=secret, host=self.langfuse_host)
        return session_traces(provider, workers, model=self.supervisor_model)
