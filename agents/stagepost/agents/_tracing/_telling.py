"""Telling a provider of one run: masked, later, and only what it is to know."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from stagepost.workflows import Mask, TracedRun

from ._hiding import without_hidden
from ._observation import ObservationStatus, ObservationType, TraceContext
from ._provider import Attributes, TracingProvider
from ._pump import Pump


class ObservedError(Exception):
    """What a provider is told of an error.

    Attributes:
        kind: Name of the error's class.
    """

    def __init__(self, kind: str, text: str = "") -> None:
        super().__init__(text or kind)
        self.kind = kind


class Telling:
    """Tells a provider of one run; nothing of it waits or raises.

    Args:
        provider: The provider.
        pump: Hands the calls on.
        run: The run.
        content: Whether it is told what was said.
        debug: Whether it is told the states before turns.

    Attributes:
        hides: Whether it is not told what is under names that begin with ``_``.
    """

    def __init__(
        self, provider: TracingProvider, pump: Pump, run: TracedRun, *, content: bool = False, debug: bool = False
    ) -> None:
        self._provider = provider
        self._pump = pump
        self._mask_of = run.mask
        self._clock = run.clock
        self.content = content
        self.debug = debug
        self.hides = False

    @property
    def _mask(self) -> Mask:
        """Puts stars where a text shows a secret; more may become known while the run is traced."""
        return self._mask_of()

    def within(self, context: TraceContext) -> "Within":
        """What the code that is observed runs in, as the provider has it."""
        return Within(self._provider, self._pump, context)

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock()

    def trace(
        self,
        name: str,
        context: TraceContext,
        parent: TraceContext | None,
        *,
        session_id: str | None,
        user_id: str | None,
        metadata: Attributes,
        at: float,
    ) -> None:
        """A trace begins, or goes on."""
        call = partial(
            self._provider.start_trace,
            self._shown(name),
            session_id,
            user_id,
            self._masked(metadata),
            context=context,
            parent_context=parent,
            at=at,
        )
        self._pump.start(context.span_id, None, call)

    def start(
        self,
        name: str,
        kind: ObservationType,
        context: TraceContext,
        parent: TraceContext,
        *,
        metadata: Attributes,
        input_data: object = None,
        at: float | None = None,
    ) -> None:
        """An observation begins, or goes on. Its input is content."""
        call = partial(
            self._provider.start_observation,
            self._shown(name),
            kind,
            parent,
            self._masked(metadata),
            self._content(input_data),
            context=context,
            at=self.now() if at is None else at,
        )
        self._pump.start(context.span_id, parent.span_id, call)

    def ask(
        self,
        name: str,
        context: TraceContext,
        parent: TraceContext,
        *,
        model: str,
        messages: Sequence[object],
        metadata: Attributes,
        at: float | None = None,
    ) -> None:
        """A model is asked. The messages are content."""
        said = self._content(messages)
        call = partial(
            self._provider.start_generation,
            self._shown(name),
            parent,
            self._shown(model),
            said if isinstance(said, list) else [],
            self._masked(metadata),
            context=context,
            at=self.now() if at is None else at,
        )
        self._pump.start(context.span_id, parent.span_id, call)

    def answer(
        self,
        context: TraceContext,
        output: Mapping[str, object],
        usage: Mapping[str, int | float] | None,
    ) -> None:
        """A model has answered. The answer is content."""
        said = self._content(output)
        told = said if isinstance(said, dict) else {}
        call = partial(self._provider.end_generation, context, told, usage, status="ok", at=self.now())
        self._pump.end(context.span_id, call)

    def end(
        self, context: TraceContext, status: ObservationStatus, *, output_data: object = None, at: float | None = None
    ) -> None:
        """An observation ends. Its output is content."""
        when = self.now() if at is None else at
        given = self._content(output_data)
        call = partial(self._provider.end_observation, context, status, output_data=given, at=when)
        self._pump.end(context.span_id, call)

    def event(self, context: TraceContext, name: str, attributes: Attributes) -> None:
        """Something happens within an observation."""
        told = self._masked(attributes)
        self._pump.tell(context.span_id, partial(self._provider.add_event, context, name, told, at=self.now()))

    def state(self, context: TraceContext, state: object) -> None:
        """The state before a turn: content, for those who debug."""
        if self.debug:
            told = {"state": self._content(state)}
            self._pump.tell(context.span_id, partial(self._provider.add_event, context, "state", told, at=self.now()))

    def failed(self, context: TraceContext, kind: str, text: str) -> None:
        """An observation has failed. The text is content."""
        error = ObservedError(kind, self._shown(text) if self.content else "")
        self._pump.tell(context.span_id, partial(self._provider.set_error, context, error))

    def _content(self, given: object) -> JsonValue:
        """What was said, as JSON values; None if the provider is not to know it."""
        if not self.content or given is None:
            return None
        try:
            plain: JsonValue = to_jsonable_python(given, bytes_mode="base64", fallback=_named, serialize_unknown=True)
        except Exception as error:  # noqa: BLE001  # a value of the user's that has no form: the trace says so
            return f"<{type(error).__name__}: {type(given).__name__} has no JSON form>"
        return masked(without_hidden(plain) if self.hides else plain, self._shown)

    def _masked(self, attributes: Attributes) -> Attributes:
        if not self._mask:
            return attributes
        return {name: masked(value, self._shown) for name, value in attributes.items()}

    def _shown(self, text: str) -> str:
        """A text without secrets, and without halves of characters, which nothing can send."""
        text = text if text.isascii() else text.encode("utf-8", "replace").decode()
        return self._mask(text) if self._mask else text


class Within:
    """What observed code runs in, as a provider has it: what the provider raises does no harm, and is counted.

    Args:
        provider: The provider.
        pump: Counts its failures.
        context: What is observed.
    """

    def __init__(self, provider: TracingProvider, pump: Pump, context: TraceContext) -> None:
        self._provider = provider
        self._pump = pump
        self._context = context
        self._entered: AbstractContextManager[object] | None = None

    def enter(self) -> None:
        """Begin."""
        within = getattr(self._provider, "within", None)
        if within is None:
            return
        try:
            found: AbstractContextManager[object] = within(self._context)
            found.__enter__()
        except BaseException as error:  # noqa: BLE001  # what is no failure of the provider's is raised again
            self._pump.failed_at_once(error)
        else:
            self._entered = found

    def leave(self) -> None:
        """End."""
        entered, self._entered = self._entered, None
        if entered is None:
            return
        try:
            entered.__exit__(None, None, None)
        except BaseException as error:  # noqa: BLE001  # as above
            self._pump.failed_at_once(error)


def masked(value: JsonValue, mask: Callable[[str], str]) -> JsonValue:
    """A JSON value whose texts are masked, the names of objects, too."""
    match value:
        case str():
            return mask(value)
        case list():
            return [masked(each, mask) for each in value]
        case dict():
            return {mask(key): masked(each, mask) for key, each in value.items()}
        case _:
            return value


def _named(value: object) -> str:
    """What stands for a value that has no JSON form."""
    return f"<{type(value).__name__}>"
