"""How a run is to be started."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stagepost.checkpoint import Keep

from .._engine._intermediates import Intermediate
from .._values._secrets import Secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a run is to be started, beside its workflow and state.

    Attributes:
        keep: What stays of it.
        run_id: Its id; None for one that is made.
        key: Its start-once key.
        remember_id: Whether its id stays taken when retention has deleted it.
        remember_key: The same of its key.
        trace: The trace that it belongs to.
        intermediates: A list that gets its states.
        urgent: Whether it takes no slot.
        labels: What it can be found by.
        any_input: Whether the run that has its id already may have begun with something else.
    """

    keep: Keep
    run_id: str | None = None
    key: str | None = None
    remember_id: bool = False
    remember_key: bool = False
    trace: str | None = None
    intermediates: list[Intermediate] | None = None
    urgent: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    any_input: bool = False

    def check(self, secrets: Secrets, workflow: str) -> None:
        """See that what the run is named and found by are texts, and hold no secret.

        Raises:
            TypeError: One is no text.
            ValueError: One is empty.
            CannotStore: One holds a secret.
        """
        for name, given in (("key", self.key), ("trace", self.trace)):
            if not isinstance(given, str | None):
                raise TypeError(f"{name}={given!r:.80}: give a text")
            if given == "":
                raise ValueError(f"{name}='': give a text that is not empty, or None for no {name}")
        secrets.check_text(self.run_id, f"the id of a run of {workflow!r}")
        secrets.check_text(self.key, f"the key of a run of {workflow!r}")
        secrets.check_text(self.trace, f"the trace of a run of {workflow!r}")
        for text in (*self.labels.keys(), *self.labels.values()):
            secrets.check_text(text, f"a label of a run of {workflow!r}")
