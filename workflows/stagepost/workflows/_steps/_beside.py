"""What a step saves beside its result: bytes, and rows of the application's tables."""

from collections.abc import Sequence
from dataclasses import field

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Attachments, Cell, Statement

from .._execution._blobs import Attached, check_blobs
from ..errors import RunnerRequired
from ._run_context import RunContext


@dataclass(slots=True, eq=False)
class Beside(RunContext):
    """The part of a `StepContext` that saves more than the step returns.

    Attributes:
        path: Where the step stands.
        attached: Bytes that the step has attached, and what it has written to tables, so far; None if there is nothing.
    """

    path: str
    attached: Attached | None = field(default=None, kw_only=True)

    def attach(self, data: bytes) -> str:
        """Keep bytes beside the state, such as a picture: they are saved together with what this step returns.

        The store has them once, however many runs bring the same, for as long as one of these runs is stored.

        Returns:
            Their digest, for `blob`: the step puts it into the state.

        Raises:
            BlobTooLarge: There are more than the store takes (`max_blob`, 20 MB).
            CannotStore: They hold a secret.
        """
        digest = (blobs := Attachments()).add(bytes(data))
        check_blobs(blobs, repr(self.path), self._execution.limits, self._execution.secrets)
        self._kept().update(blobs)
        return digest

    def write(self, text: str, *values: str | float | bytes | None) -> None:
        """Write to a table of the application in the store's database, in the transaction that saves this step.

        Its name begins with ``app_``, see `Tables`. Nothing is written if the step fails, or begins again. If the
        statement fails, for example at a constraint, so does the step, and nothing of it is saved.

        Args:
            text: SQL, with ``?`` for values.
            values: What is bound to these.

        Raises:
            RunnerRequired: The run is in memory, where there are no tables.
            CannotStore: The statement or a value holds a secret.
        """
        if not self.is_durable:
            raise RunnerRequired(self.workflow, self.path, "writes to a table")
        for given in (text, *values):
            if isinstance(given, str):
                self._execution.secrets.check_text(given, f"what {self.path!r} writes to a table")
            elif isinstance(given, bytes):
                self._execution.secrets.check_bytes(given, f"what {self.path!r} writes to a table")
        kept = self._kept()
        kept.also = (*kept.also, Statement(text, values))

    async def query(self, text: str, *values: Cell) -> Sequence[tuple[Cell, ...]]:
        """The rows of a SELECT from tables of the application in the store's database.

        What this step has written with `write` is not among them: it is saved together with the step.

        Args:
            text: SQL, with ``?`` for values.
            values: What is bound to these.

        Raises:
            RunnerRequired: The run is in memory, where there are no tables.
            StatementFailed: It is no SELECT that the database understands.
        """
        if not self.is_durable:
            raise RunnerRequired(self.workflow, self.path, "reads a table")
        return await self._execution.stored.query(text, *values)

    def begin_again(self) -> None:
        """Forget what the step has written so far, for the engine."""
        if self.attached is not None:
            self.attached.also = ()

    def _kept(self) -> Attached:
        self.attached = Attached() if self.attached is None else self.attached
        return self.attached

    async def blob(self, digest: str) -> bytes:
        """Bytes that a run of the store refers to, by the digest that `attach` has returned.

        Raises:
            BlobNotFound: There are none.
        """
        if self.attached is not None and (data := self.attached.get(digest)) is not None:
            return data
        return await self._execution.blobs.get(digest)
