"""What a step may know and use beside its state."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, overload

from stagepost._dataclasses import dataclass
from stagepost.hub import Duration, check_name

from .._execution._children import Beginning, Startable
from .._execution._execution import Execution
from .._execution._signal_box import Signal
from .._ids import place_of
from .._values._expected import expected
from ._answered import Question, shown
from ._beside import Beside
from ._effects import NotDone, Once
from ._notes import note, noted

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class StepContext(Beside):
    """Given to steps that have a parameter named ``context``: all that a step, or a library of steps, needs of its run.

    Attributes:
        path: Where the step stands: names from the root, items as ``name[3]``.
        visit: Which visit of a graph's node this is, from 1; 0 outside of graphs.
        around: Visits of the fan-outs that the step is inside of, outermost first; all 0 outside of graphs.
        attached: Bytes that the step has attached, and what it has written to tables, so far; None if there is nothing.
        outer: Makes `outer_state`; None if it is not the worker of a fan-out.
    """

    visit: int
    around: tuple[int, ...] = ()
    outer: Callable[[], Any] | None = None

    @property
    def outer_state(self) -> Any:
        """For a worker of a `Parallel`: the state that the fan-out was given; None for other steps."""
        return None if self.outer is None else self.outer()

    @property
    def place(self) -> str:
        """The step's path and visits: no other step, item or visit of the run has the same."""
        return place_of(self.path, (*self.around, self.visit))

    @property
    def idempotency_key(self) -> str:
        """The same text whenever this very step, visit and item runs, also after a crash; no other step has it."""
        return f"{self.run_id}/{self.place}"

    def tell(self, what: object) -> None:
        """Tell whoever listens to the run while this step is under way: how far it has got, or a text piece by piece.

        Nothing of it is stored, and a listener that is slow may miss it: what must arrive is returned. Nothing happens
        if nobody listens, see `is_heard`. May be called in a step in a thread, too.

        Args:
            what: A JSON value, of which listeners get a copy without secrets; or an immutable value of your own, as it
                is, of which nobody knows whether it holds one.
        """
        self._execution.tell(self.place, what)

    def note_retry(self, attempt: int, error: str, seconds: float) -> None:
        """Have the history, if the run keeps one, say that this step is tried again: for those who try it again.

        Args:
            attempt: The how many-th attempt of this process has failed, from 1.
            error: Why, as text.
            seconds: How long it waits before the next one.
        """
        if self._execution.chronicle is not None:
            self._execution.chronicle.retried(self.place, attempt, error, seconds)

    async def first(self, key: str) -> bool:
        """Whether this step, visit and item gets here for the first time; False if it did before, in whichever process.

        That it gets here is saved before this returns. So what comes behind a True happens at most once, and behind a
        False nobody knows whether it has happened: for those who would rather give up than ask, as `once` does.

        Args:
            key: A name within the step.
        """
        if self._execution.secrets.has_any:
            self._execution.secrets.check_text(key, f"a key of {self.path}")
        return await self._execution.ledger.first(self.place, check_name("key", key))

    async def note(self, key: str, value: object) -> None:
        """Keep a value for when this step, visit and item runs again, in whichever process: `noted` gives it back.

        It is saved before this returns. So a step that goes on with what others have said so far, such as a server that
        wants to be asked again, knows it after an answer or a crash.

        Args:
            key: A name within the step, which no effect of it has.
            value: A JSON value; it replaces one of the same key.

        Raises:
            CannotStore: It has no stored form, is too large, or holds a secret.
        """
        await note(self._execution, self.place, self.path, check_name("key", key), value)

    def noted(self, key: str) -> Any:
        """What this step, visit and item has kept with `note`, as JSON values; None if nothing.

        Args:
            key: The name within the step.
        """
        return noted(self._execution.ledger, self.place, key)

    def has_begun(self, key: str) -> bool:
        """Whether this step, visit and item has begun what `first` or `once` are asked for by a key, in any process.

        Args:
            key: The name within the step.
        """
        return self._execution.ledger.effect(self.place, key) is not None

    def go_straight_on(self) -> bool:
        """Have the next step begun together with the commit of this one: only the end of the process can come between.

        So what this step returns may say already that the next one has begun, which saves that one the commit of
        `first`. Even if the runner is left meanwhile, the next step is begun, and has the runner's grace to end.

        Returns:
            False if the runner is being left already: then the next step is begun by another process.
        """
        if self._execution.journal.stopping:
            return False
        self._execution.straight.add(self.path)
        return True

    async def wait_for_answer(
        self,
        key: str,
        *,
        expect: Any = None,
        show: object = None,
        within: Duration | None = None,
        otherwise: object = None,
    ) -> Any:
        """What somebody answers to a question in the middle of a step, given by ``runner.answer(wait_id, value)``.

        Until then the run is parked, for days if need be; then the step runs again and gets the answer here, each time
        that it runs. Needs a step that says what it may be answered: ``step(…, answers=Decision)``.

        Args:
            key: Its name within the step; `PendingWait.name` for whoever answers.
            expect: Type of the answer; None for plain JSON.
            show: A JSON value or a model for whoever answers.
            within: How long to wait, counted from the first time; None for no limit.
            otherwise: The answer if nobody has given one by then.

        Raises:
            RunnerRequired: The run is in memory, and nobody could answer.
            CannotStore: What is shown, or the otherwise, has no stored form.
        """
        question = Question(key, expect=expect, show=show, within=within, otherwise=otherwise)
        return await question.answer(self._execution, self.place, self.path)

    async def child(self, workflow: Startable, key: str, start: Beginning) -> Any:
        """The final state of a run of another workflow that this step starts, and waits for.

        Under a `Runner` the child is a run of its own, named ``{run_id}.{key}``. It takes no slot and belongs to this
        run's trace. A step that runs again, behind a crash for one, joins the child that it has started before, however
        far that has come. If the child waits for somebody, this run is parked with it, and what it waits for shows on
        this one. In memory the child is worked on within the step, with the same deps, secrets and hub.

        A step may have any number of children, one after the other; at once only in the items of a `Parallel`.

        Args:
            workflow: What the child does. The runner knows it by ``companions=`` of this one, or ``workflows=``.
            key: The child's name within this run, not only within the step.
            start: The state that it begins with, or a function of none, async or not, that makes it; that is called
                only if there is no such child yet.

        Returns:
            The child's final state.

        Raises:
            ChildFailed: It has failed, was cancelled or is dead. That stands, until somebody resumes this run.
            DefinitionError: The runner does not know the workflow.
            LifespanFailed: What the child needs could not be opened.
            RunConflict: The key stands for a child of another workflow.
        """
        if self._execution.secrets.has_any:
            self._execution.secrets.check_text(key, f"the key of a child of {self.path}")
        if self._execution.tracing is not None:
            self._execution.tracing.child(self.child_id(key), self)
        return await self._children.run(self._execution, workflow.as_workflow(), key, start, place=self.place)

    async def cancel_child(self, workflow: Startable, key: str) -> None:
        """End a child of this run for good, with all runs below it, because nobody waits for it any more.

        A step that gives up waiting does not end its child by that: another attempt may join it. Behind this, `child`
        raises `ChildFailed`, unless the child has ended before.

        Args:
            workflow: As for `child`.
            key: As for `child`.
        """
        await self._children.cancel(self._execution, workflow.as_workflow(), key)

    async def signals(self, name: str, after: int = 0) -> Sequence[Signal]:
        """What was sent to this run as signals of a name, oldest first. None is taken: the next step finds them too.

        For a step that heeds what it is told on the way, such as to stop, and does not wait for it. While nothing is
        sent, this costs nothing. A run in memory is sent none.

        Args:
            name: The signal's name; the step says that it reads it: ``step(…, signals={"stop": None})``.
            after: Only those with a number above this one: that of the last one that was heeded.

        Raises:
            UnknownSignal: No step of the workflow receives such a signal.
        """
        self._execution.signals.read_at = self.path
        return await self._execution.signals.find(name, after)

    @overload
    async def once(
        self,
        key: str,
        effect: Callable[[], Awaitable[T]],
        *,
        expect: Any = ...,
        not_done: NotDone = ...,
        on_unknown: Callable[[], Awaitable[T]] | None = ...,
        show: object = ...,
    ) -> T: ...
    @overload
    async def once(
        self,
        key: str,
        effect: Callable[[], T],
        *,
        expect: Any = ...,
        not_done: NotDone = ...,
        on_unknown: Callable[[], T] | None = ...,
        show: object = ...,
    ) -> T: ...
    async def once(
        self,
        key: str,
        effect: Callable[[], Any],
        *,
        expect: Any = None,
        not_done: NotDone = (),
        on_unknown: Callable[[], Any] | None = None,
        show: object = None,
    ) -> Any:
        """Do something to the world outside at most once, however often the step runs again.

        That it is about to happen is saved before it is called, what it returned afterwards. A step that runs again
        gets what was saved. If nothing tells whether it has happened (the process was killed in between, or it raised
        something that is not in `not_done`), it is never repeated by itself: `on_unknown` is asked, or else the run
        parks with `OutcomeUnknown` until ``runner.settle(run_id, key, …)`` says.

        Args:
            key: Its name within the step.
            effect: What to do: async, or sync and quick. From a step in a thread: ``anyio.from_thread.run``.
            expect: Type of what it returns; None for plain JSON.
            not_done: Errors that say that it has not happened: they are raised to the step, and a later attempt does
                it. `EffectNotDone` always is one of them.
            on_unknown: Finds out whether it has happened: returns what it returned, or raises `EffectNotDone`, upon
                which it is done now. Any other error, such as that nobody can be asked, parks the run.
            show: A JSON value or a model for whoever settles it.

        Returns:
            What it returned, in its stored form.

        Raises:
            OutcomeUnknown: Nothing tells whether it has happened; the run parks whatever the step makes of this.
            EffectUnderWay: An effect of this key is under way in this step.
            CannotStore: What is to be shown has no stored form; nothing has happened then.
        """
        once = Once(
            self._execution.ledger,
            self.place,
            self.path,
            key,
            codec=expected(expect),
            not_done=not_done,
            secrets=self._execution.secrets,
            prompt=None if show is None else shown(show, self._execution, self.path),
            attached=self._kept,
        )
        return await once.make(effect, on_unknown)


def execution_of(context: StepContext) -> Execution:
    """The run of a step in this process: for the steps of this package that wait, and for nobody else."""
    return context._execution  # noqa: SLF001  # the one door of the package to what is nobody else's
