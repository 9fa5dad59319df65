"""Tasks as a service uses them: start, inspect, decide, tell, follow up, cancel."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar, overload

from stagepost.checkpoint import EffectNotFound, RunNotOpen, WaitKind
from stagepost.workflows import EffectsChoice, ForkRefused, PendingWait, Run, Runner, Servable, WorkflowNotFound

from .._definition._approvals import Allow, Deny
from .._loop._loop import AgentLoop
from .._loop._news import MESSAGE
from .._loop._settings import stored_settings
from .._models._settings import ModelSettings
from .._tools._outside import given_answer
from ..errors import CallNotInDoubt, InvalidDecision, NotAnAgent, TaskFinished, TaskNotFinished
from ._forks import number_at
from ._streams import TaskStreams
from ._task import CallInDoubt, PendingApproval, PendingQuestion, Task, approval_of, doubt_of, question_of, task_of

T = TypeVar("T")


class Tasks(TaskStreams):
    """The runs of agents on a runner, as tasks.

    ::

        tasks = Tasks(runner)                       # with Runner(store, workflows=[lead]) or await runner.serve(lead)
        await tasks.start(lead, "Plan the trip.", task_id="trip-42")
        task = await tasks.get("trip-42")           # .status .messages .output .approvals …
        for wanted in await tasks.approvals():      # of all tasks, sub-agents' calls among them
            await tasks.decide(wanted.id, Allow(), by="ann")
        for call in await tasks.questions():        # calls of external tools
            await tasks.answer(call.id, {"price": 3.5}, by="ben")   # or Refuse("why")
        for call in await tasks.doubts():           # a process has ended while they were made
            await tasks.settle(call.id, "It was paid.")     # or retry=True
        await tasks.tell("trip-42", "By train, please.")
        await tasks.follow_up("trip-42", "And the way back?", new_id="trip-43")
        async with tasks.stream("trip-43") as stream:           # what it does, as it does it
            async for part in stream: ...

    It has no state of its own: there may be any number of them, and another process that has recovered the runner's
    runs continues with the same ids. A request to an agent on the hub is a task like any other.

    Args:
        runner: Where the agents run.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def start(
        self,
        agent: Servable | str,
        request: object,
        *,
        task_id: str | None = None,
        key: str | None = None,
        settings: ModelSettings | None = None,
        labels: Mapping[str, str] | None = None,
        trace: str | None = None,
    ) -> Run:
        """Start a task; when this returns, it is saved. If the id or key is known already, join the existing task.

        Args:
            agent: An agent that the runner knows, or its name.
            request: The agent's input model, a mapping of its fields, or a text.
            task_id: The task's id; by default one that sorts by time.
            key: Start-once key, of at most 1,000 characters: at most one task of the agent has it.
            settings: Settings for its model in this task; they override the agent's own. They are stored with it, so
                they must not contain keys.
            labels: What the task, and the runs of agents below it, can be found by; also whose `Memory` they have.
            trace: The trace that it belongs to, such as the ``traceparent`` of an HTTP request; by default its own.

        Returns:
            The run's handle; its ``id`` is the task's, ``await run.result()`` its final state.

        Raises:
            WorkflowNotFound: The runner knows no agent of this name.
            DefinitionError: The runner does not know this agent.
            NotAnAgent: The name stands for a workflow that is not an agent.
            InvalidRequest: The request, or the settings, are not what the agent takes.
            RunConflict: The id or key stands for a task of another agent or with another request.
        """
        return await self._begin(
            agent,
            request,
            task_id=task_id,
            remember_id=True,
            key=key,
            settings=settings,
            labels=labels,
            trace=trace,
        )

    def is_agent(self, name: str) -> bool:
        """Whether a name stands for an agent that the runner knows, so that its runs are tasks.

        Args:
            name: The name of an agent or of another workflow, as in `RunInfo.workflow`.
        """
        return self._loop_or_none(name) is not None

    async def get(self, task_id: str) -> Task:
        """The task as it is now, whether or not anybody works on it.

        Raises:
            RunNotFound: There is none, or it was forgotten since its end (``Runner(keep_for=…)``).
            NotAnAgent: The run belongs to a workflow that is not an agent.
        """
        view = await self._runner.runs.get(task_id)
        loop = self._loop(view.workflow, task_id)
        return task_of(
            view,
            loop,
            approvals=self._of_agents(view.waits, approval_of),
            doubts=self._of_agents(view.waits, doubt_of),
            questions=self._of_agents(view.waits, question_of),
            now=self._runner.clock(),
        )

    async def approvals(self) -> Sequence[PendingApproval]:
        """The calls of all tasks that need approval: the inbox of whoever decides."""
        return self._of_agents(await self._runner.waits(kind=WaitKind.ANSWER), approval_of)

    async def decide(self, approval_id: str, decision: Allow | Deny, *, by: str | None = None) -> None:
        """Decide about a call; when this returns the decision is on disk, and the task continues.

        Args:
            approval_id: The call, as in `PendingApproval.id`.
            decision: ``Allow()``, ``Allow(arguments={…})`` to change the arguments, or ``Deny("why")``, which the model
                is told.
            by: Who decides; stored with it.

        Raises:
            InvalidDecision: It is something else.
            AlreadyAnswered: Another decision came first, or the time was up.
            WaitNotFound: There is no such call.
            RunNotFound: There is no such task.
            RunNotOpen: The task has ended.
            IncompatibleCheckpoint: The task cannot continue with the agent as it is now defined; nothing is stored.
        """
        if not isinstance(decision, Allow | Deny | Mapping):  # one that came as JSON is checked like any answer
            raise InvalidDecision(decision, "the decision")
        await self._runner.answer(approval_id, decision, by=by)

    async def questions(self) -> Sequence[PendingQuestion]:
        """The calls of all tasks that wait for a value from outside: the inbox of whoever answers."""
        return self._of_agents(await self._runner.waits(kind=WaitKind.ANSWER), question_of)

    async def answer(self, question_id: str, value: object, *, by: str | None = None) -> None:
        """Give the value that a call waits for; when this returns it is on disk, and the task continues.

        Args:
            question_id: The call, as in `PendingQuestion.id`.
            value: The value, or ``Refuse("why")``, or ``Dismiss()`` if nobody decides; the model is told, or the server
                that asks. None for a question with a `PendingQuestion.url`, once somebody has been there.
            by: Who answers; stored with it.

        Raises:
            AlreadyAnswered: Another answer came first, or the time was up.
            CannotStore: The value does not fit, or has no JSON form; the call keeps waiting.
            WaitNotFound: There is no such call.
            RunNotFound: There is no such task.
            RunNotOpen: The task has ended.
            IncompatibleCheckpoint: The task cannot continue with the agent as it is now defined; nothing is stored.
        """
        await self._runner.answer(question_id, given_answer(question_id, value), by=by)

    async def doubts(self) -> Sequence[CallInDoubt]:
        """The calls in doubt of all tasks: a process ended while they were being made."""
        return self._of_agents(await self._runner.waits(kind=WaitKind.EFFECT), doubt_of)

    @overload
    async def settle(self, doubt_id: str, result: str) -> None: ...
    @overload
    async def settle(self, doubt_id: str, *, retry: Literal[True]) -> None: ...
    async def settle(self, doubt_id: str, result: str | None = None, *, retry: bool = False) -> None:
        """Say what came of a call in doubt; when this returns that is on disk, and the task continues.

        Args:
            doubt_id: The call, as in `CallInDoubt.id`.
            result: The call was made: the model is told this as its result.
            retry: The call was not made, and is made now.

        Raises:
            CallNotInDoubt: No call with this id is in doubt (any more).
            CannotStore: The result shows a secret.
            RunNotFound: There is no such task.
        """
        if (result is None) is not retry:
            raise ValueError("settle() takes either the result (the call was made) or retry=True (it was not)")
        waits = await self._runner.waits(doubt_id.partition("/")[0], kind=WaitKind.EFFECT)
        wait = next((wait for wait in waits if wait.id == doubt_id), None)
        if wait is None:
            raise CallNotInDoubt(doubt_id)
        try:
            await self._runner.settle(wait.run_id, wait.name, value=result, retry=retry, place=wait.place)
        except (EffectNotFound, RunNotOpen):  # since
            raise CallNotInDoubt(doubt_id) from None

    async def tell(self, task_id: str, text: str, *, dedup: str | None = None) -> bool:
        """Send a message to a running task: its model gets it before its next answer.

        If the task was about to end, the model is asked once more. A task that waits for a person gets the message and
        keeps waiting. The message is part of the transcript once the model has got it.

        Args:
            task_id: The task.
            text: The message.
            dedup: Messages with one `dedup` are delivered once, however often they are sent.

        Returns:
            Whether it is new.

        Raises:
            TaskFinished: It has ended; `follow_up` continues it.
            RunNotFound: There is none.
            NotAnAgent: The run belongs to a workflow that is not an agent.
        """
        await self._check(task_id)
        try:
            return await self._runner.signal(task_id, MESSAGE, text, dedup=dedup)
        except RunNotOpen as error:
            raise TaskFinished(task_id, error.status) from None

    async def follow_up(
        self,
        task_id: str,
        request: object,
        *,
        new_id: str | None = None,
        key: str | None = None,
        settings: ModelSettings | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Run:
        """Continue a task that has ended, whether it has completed, failed or was cancelled.

        That is a task of its own, with a budget of its own. It begins with everything that was said, which is not
        stored again, and stays when the ended task is deleted; calls without a result get one that says so.
        Conversations with sub-agents can continue, for as long as the task is kept in which they were last spoken to.

        Args:
            task_id: The task that has ended; it stays as it is.
            request: A text, or any request of the agent.
            new_id: Id of the new task.
            key: Its start-once key.
            settings: As for `start`; those of the ended task do not apply.
            labels: As for `start`; by default those of the ended task.

        Returns:
            The new run's handle.

        Raises:
            TaskNotFinished: It is still running: use `tell`.
            InvalidRequest: The request is not what the agent takes.
            RunNotFound: There is no such task.
            NotAnAgent: The run belongs to a workflow that is not an agent.
            RunConflict: The new id or the key stands for something else.
        """
        view = await self._runner.runs.get(task_id)
        loop = self._loop(view.workflow, task_id)
        if view.status.is_open:
            raise TaskNotFinished(task_id, view.status)
        start = {**loop.go_on(view.state, request, run_id=task_id), **stored_settings(loop.agent, settings)}
        labels = (await self._runner.runs.info(task_id)).labels if labels is None else labels
        return await self._runner.start(loop, start, run_id=new_id, key=key, labels=labels)

    async def fork(
        self,
        task_id: str,
        *,
        at: int | None = None,
        effects: EffectsChoice | None = None,
        new_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Run:
        """Make a new task that goes on where another one stands, or has stood; that one stays as it is.

        What the other one has used up to that point counts for the budget of the new one, which is its own from there.

        Args:
            task_id: The other task, open or ended.
            at: How many messages of its transcript the new one begins with, at most; that takes a task that keeps all
                (``Runner(keep="all")``). None for where it stands.
            effects: As for `Runner.fork`, of calls that were made after that point: ``"again"`` or ``"keep"``.
            new_id: Id of the new task.
            labels: What it can be found by, beside the labels of the other one.

        Returns:
            The new run's handle.

        Raises:
            EffectsAgain: Calls with effects would be made again, and `effects` does not say so.
            ForkRefused: It is a run below another task, or its transcript was never so short, as far as is known.
            RunNotFound: There is no such task.
            NotAnAgent: The run belongs to a workflow that is not an agent.
            RunConflict: The new id stands for something else.
        """
        await self._check(task_id)
        if (root := task_id.partition(".")[0]) != task_id:
            raise ForkRefused(task_id, f"an agent of task {root!r} has it, whose budget it shares: fork that task")
        number = None if at is None else await number_at(self._runner, task_id, at)
        return await self._runner.fork(task_id, at=number, effects=effects, run_id=new_id, labels=labels)

    async def cancel(self, task_id: str) -> Run:
        """End a task for good, and the runs of its sub-agents; what was said stays stored.

        Raises:
            TaskFinished: It has ended already.
            RunNotFound: There is none.
            NotAnAgent: The run belongs to a workflow that is not an agent.
        """
        await self._check(task_id)
        try:
            return await self._runner.cancel(task_id)
        except RunNotOpen as error:
            raise TaskFinished(task_id, error.status) from None

    async def _check(self, task_id: str) -> None:
        """See that a run is an agent's."""
        self._loop((await self._runner.runs.info(task_id)).workflow, task_id)

    def _loop(self, workflow: str, task_id: str) -> AgentLoop:
        loop = self._runner.workflow(workflow)
        if not isinstance(loop, AgentLoop):
            raise NotAnAgent(workflow, task_id)
        return loop

    def _of_agents(self, waits: Iterable[PendingWait], read: Callable[[PendingWait, int], T | None]) -> Sequence[T]:
        """What agents' runs wait for, as far as it is of one kind."""
        found = (read(wait, loop.depth) for wait in waits if (loop := self._loop_or_none(wait.workflow)))
        return tuple(each for each in found if each is not None)

    def _loop_or_none(self, workflow: str) -> AgentLoop | None:
        try:
            loop = self._runner.workflow(workflow)
        except WorkflowNotFound:  # of another process's runs
            return None
        return loop if isinstance(loop, AgentLoop) else None
