"""Verbs that start runs, go on with them, and end them."""

from typing import Any

from pydantic import JsonValue

from stagepost.agents import TaskStream
from stagepost.workflows import Run, RunStream

from .._wire._asked import StartRun
from .._wire._done import Done
from .._wire._workflows import RunStarted
from ..errors import InputRefused
from ._acts import recorded
from ._base import Base, done
from ._scopes import verb


class Running(Base):
    """The part of `Verbs` that starts runs, goes on with them, and ends them."""

    @verb
    async def start(self, order: StartRun, *, key: str | None = None) -> RunStarted:
        """Start a run of a workflow or an agent, or join the one that has this id or key already.

        Args:
            order: What to start.
            key: Start-once key: at most one run of the workflow has it.

        Raises:
            WorkflowNotFound: There is no such workflow.
            InputRefused: A request was given to a workflow that is not an agent, or a state to an agent.
            InvalidRequest: The agent does not take the request.
            CannotStore: The workflow does not take the state.
            RunConflict: The id or key stands for another run, or one with another input.
            RunForgotten: The id or key is that of a run that has ended and was deleted since.
        """
        return started(await self._start(order, key))

    @verb
    async def start_stream(
        self,
        order: StartRun,
        *,
        key: str | None = None,
        after: str | None = None,
    ) -> TaskStream[Any] | RunStream:
        """The same, with the run's stream: of an agent from the first token on.

        An agent's task starts when the stream is entered, and raises then what `start` raises.
        """
        if self._is_agent(order):
            return self._tasks.start_stream(
                order.workflow,
                order.request,
                task_id=order.run_id,
                key=key,
                labels=order.labels or None,
                after=after,
            )
        run = await self._start(order, key)
        return run.stream(after=after)

    async def _start(self, order: StartRun, key: str | None) -> Run:
        labels = order.labels or None
        if self._is_agent(order):
            return await self._tasks.start(order.workflow, order.request, task_id=order.run_id, key=key, labels=labels)
        workflow = self._runner.workflow(order.workflow)
        return await self._runner.start(workflow, order.state, run_id=order.run_id, key=key, labels=labels)

    def _is_agent(self, order: StartRun) -> bool:
        """Whether an agent is to be started.

        Raises:
            WorkflowNotFound: There is no workflow of this name.
            InputRefused: What it is to begin with is not for it.
        """
        self._runner.workflow(order.workflow)
        is_agent = self._tasks.is_agent(order.workflow)
        if is_agent and "request" not in order.model_fields_set:
            raise InputRefused(f"{order.workflow!r} is an agent: give it a request, and no state")
        if not is_agent and "request" in order.model_fields_set:
            raise InputRefused(f"{order.workflow!r} is a workflow and no agent: give it a state, and no request")
        return is_agent

    @verb
    async def follow_up(
        self,
        run_id: str,
        request: JsonValue,
        *,
        new_id: str | None = None,
        key: str | None = None,
        labels: dict[str, str] | None = None,
    ) -> RunStarted:
        """Continue a task that has ended, as a task of its own that begins with everything that was said.

        Raises:
            TaskNotFinished: It is still running.
            InvalidRequest: The agent does not take the request.
            RunNotFound: There is no such task.
            NotAnAgent: The run is not an agent's.
            RunConflict: The new id or the key stands for something else.
        """
        run = await self._tasks.follow_up(run_id, request, new_id=new_id, key=key, labels=labels)
        return started(run)

    @verb
    async def tell(self, run_id: str, text: str, *, dedup: str | None = None) -> Done:
        """Send a message to a running task: its model gets it before its next answer.

        Raises:
            TaskFinished: It has ended.
            RunNotFound: There is none.
            NotAnAgent: The run is not an agent's.
        """
        return done("told", run_id, is_new=await self._tasks.tell(run_id, text, dedup=dedup))

    @verb
    async def signal(
        self,
        run_id: str,
        name: str,
        value: JsonValue = None,
        *,
        dedup: str | None = None,
    ) -> Done:
        """Send a signal to a run.

        Raises:
            UnknownSignal: The workflow receives no such signal.
            CannotStore: The value is not what the step expects.
            RunNotFound: There is no such run.
            RunNotOpen: It has ended.
        """
        return done("signalled", run_id, is_new=await self._runner.signal(run_id, name, value, dedup=dedup))

    @recorded
    async def cancel(self, run_id: str) -> Done:
        """End an open run for good, and the runs below it.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        await self._runner.cancel(run_id)
        return done("cancelled", run_id)

    @recorded
    async def resume(self, run_id: str) -> RunStarted:
        """Go on with a run that has failed, or one that was left open.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has completed.
        """
        return started(await self._runner.resume(run_id))


def started(run: Run) -> RunStarted:
    """A run that goes on."""
    return RunStarted(run_id=run.id, workflow=run.workflow, status=run.status.value)
