"""The table of operations: routes, the OpenAPI document and docs/http.md are made from it."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from stagepost.agents import TaskStream
from stagepost.checkpoint import WaitKind
from stagepost.workflows import RunStream

from ..._wire._asked import (
    AnswerWait,
    ConversationAsked,
    CountsAsked,
    EventsAsked,
    FollowUp,
    ForkRun,
    HistoryAsked,
    RetryItems,
    RunsPageAsked,
    SayMessage,
    SchedulesAsked,
    SendSignal,
    SettleEffect,
    StartRun,
    TellTask,
    WaitsAsked,
)
from ..._wire._conversations import ConversationShown
from ..._wire._done import Done
from ..._wire._history import HistoryPage
from ..._wire._run import RunShown
from ..._wire._runs import RunCounts, RunPage
from ..._wire._schedules import ScheduleList
from ..._wire._waits import WaitList
from ..._wire._workflows import RunStarted, WorkflowList
from ._operation import Call, Operation


async def _start(call: Call) -> RunStarted:
    return await call.verbs.start(call.caller, call.body, key=call.key)


async def _start_stream(call: Call, after: str | None) -> TaskStream[Any] | RunStream:
    return await call.verbs.start_stream(call.caller, call.body, key=call.key, after=after)


async def _list(call: Call) -> RunPage:
    asked: RunsPageAsked = call.query
    return await call.verbs.list(
        call.caller,
        asked.filters(),
        newest_first=asked.newest_first,
        after=asked.after,
        before=asked.before,
        limit=asked.limit,
    )


async def _count(call: Call) -> RunCounts:
    asked: CountsAsked = call.query
    return await call.verbs.count(call.caller, asked.filters(), by=asked.by)


async def _get(call: Call) -> RunShown:
    return await call.verbs.get(call.caller, call.path["run_id"])


async def _history(call: Call) -> HistoryPage:
    asked: HistoryAsked = call.query
    return await call.verbs.history(call.caller, call.path["run_id"], after=asked.after, limit=asked.limit)


async def _waits(call: Call) -> WaitList:
    asked: WaitsAsked = call.query
    kind = None if asked.kind is None else WaitKind(asked.kind)
    return await call.verbs.waits(call.caller, asked.run, kind=kind, after=asked.after, limit=asked.limit)


async def _answer(call: Call) -> Done:
    asked: AnswerWait = call.body
    if asked.is_about_doubt:
        return await call.verbs.settle_wait(
            call.caller, call.path["wait_id"], value=asked.result, retry=bool(asked.retry)
        )
    return await call.verbs.answer(call.caller, call.path["wait_id"], asked.value())


async def _settle(call: Call) -> Done:
    asked: SettleEffect = call.body
    return await call.verbs.settle(
        call.caller, call.path["run_id"], asked.key, value=asked.value, retry=bool(asked.retry), place=asked.place
    )


async def _signal(call: Call) -> Done:
    asked: SendSignal = call.body
    return await call.verbs.signal(call.caller, call.path["run_id"], asked.name, asked.value, dedup=asked.dedup)


async def _tell(call: Call) -> Done:
    asked: TellTask = call.body
    return await call.verbs.tell(call.caller, call.path["run_id"], asked.text, dedup=asked.dedup)


async def _follow_up(call: Call) -> RunStarted:
    asked: FollowUp = call.body
    return await call.verbs.follow_up(
        call.caller, call.path["run_id"], asked.request, new_id=asked.run_id, key=call.key, labels=asked.labels
    )


async def _conversation(call: Call) -> ConversationShown:
    asked: ConversationAsked = call.query
    return await call.verbs.conversation(call.caller, call.path["conversation_id"], asked.agent, limit=asked.limit)


async def _say(call: Call) -> RunStarted:
    return await call.verbs.say(call.caller, call.path["conversation_id"], call.body, key=call.key)


async def _say_stream(call: Call, after: str | None) -> TaskStream[Any]:
    name = call.path["conversation_id"]
    return await call.verbs.say_stream(call.caller, name, call.body, key=call.key, after=after)


async def _cancel(call: Call) -> Done:
    return await call.verbs.cancel(call.caller, call.path["run_id"])


async def _resume(call: Call) -> RunStarted:
    return await call.verbs.resume(call.caller, call.path["run_id"])


async def _fork(call: Call) -> RunStarted:
    asked: ForkRun = call.body
    return await call.verbs.fork(
        call.caller,
        call.path["run_id"],
        at=asked.at,
        changes=asked.changes,
        effects=asked.effects,
        new_id=asked.run_id,
        labels=asked.labels,
    )


async def _retry_items(call: Call) -> RunStarted:
    asked: RetryItems = call.body
    return await call.verbs.retry_items(
        call.caller, call.path["run_id"], path=asked.path, new_id=asked.run_id, labels=asked.labels
    )


async def _delete(call: Call) -> Done:
    return await call.verbs.delete(call.caller, call.path["run_id"])


async def _workflows(call: Call) -> WorkflowList:
    return await call.verbs.workflows(call.caller)


async def _schedules(call: Call) -> ScheduleList:
    asked: SchedulesAsked = call.query
    return await call.verbs.schedules(call.caller, after=asked.after, limit=asked.limit)


async def _pause_schedule(call: Call) -> Done:
    return await call.verbs.pause_schedule(call.caller, call.path["key"])


async def _resume_schedule(call: Call) -> Done:
    return await call.verbs.resume_schedule(call.caller, call.path["key"])


async def _delete_schedule(call: Call) -> Done:
    return await call.verbs.delete_schedule(call.caller, call.path["key"])


_RUN: Final = "/runs/{run_id}"
_ACCEPTED: Final = HTTPStatus.ACCEPTED

OPERATIONS: Final[Sequence[Operation]] = (
    Operation("workflows", "GET", "/workflows", "What can be started.", WorkflowList, _workflows),
    Operation(
        "start",
        "POST",
        "/runs",
        "Start a run of a workflow or an agent, or join the one that has this id or key.",
        RunStarted,
        _start,
        body=StartRun,
        status=_ACCEPTED,
        takes_key=True,
        streams=True,
        begin=_start_stream,
    ),
    Operation("list", "GET", "/runs", "List runs, page by page.", RunPage, _list, query=RunsPageAsked),
    Operation("count", "GET", "/run-counts", "Count runs.", RunCounts, _count, query=CountsAsked),
    Operation("get", "GET", _RUN, "Show all that is stored of a run.", RunShown, _get),
    Operation("delete", "DELETE", _RUN, "Delete a run that has ended, for good.", Done, _delete),
    Operation(
        "stream",
        "GET",
        f"{_RUN}/events",
        "Hear what becomes of a run, from its beginning or after a cursor.",
        None,
        None,
        query=EventsAsked,
        streams=True,
    ),
    Operation(
        "history",
        "GET",
        f"{_RUN}/history",
        "Show what has happened to a run, step by step.",
        HistoryPage,
        _history,
        query=HistoryAsked,
    ),
    Operation("tell", "POST", f"{_RUN}/tell", "Send a message to a running agent's task.", Done, _tell, body=TellTask),
    Operation(
        "follow_up",
        "POST",
        f"{_RUN}/follow-up",
        "Continue an agent's task that has ended, as a task of its own.",
        RunStarted,
        _follow_up,
        body=FollowUp,
        status=_ACCEPTED,
        takes_key=True,
    ),
    Operation("signal", "POST", f"{_RUN}/signal", "Send a signal to a run.", Done, _signal, body=SendSignal),
    Operation(
        "settle",
        "POST",
        f"{_RUN}/settle",
        "Say what became of an effect in doubt.",
        Done,
        _settle,
        body=SettleEffect,
    ),
    Operation("cancel", "POST", f"{_RUN}/cancel", "End a run for good, and the runs below it.", Done, _cancel),
    Operation(
        "resume",
        "POST",
        f"{_RUN}/resume",
        "Go on with a run that has failed.",
        RunStarted,
        _resume,
        status=_ACCEPTED,
    ),
    Operation(
        "fork",
        "POST",
        f"{_RUN}/fork",
        "Make a new run that goes on where this one stands or has stood.",
        RunStarted,
        _fork,
        body=ForkRun,
        status=_ACCEPTED,
    ),
    Operation(
        "retry_items",
        "POST",
        f"{_RUN}/retry-items",
        "Make a new run in which only the failed items of a fan-out run again.",
        RunStarted,
        _retry_items,
        body=RetryItems,
        status=_ACCEPTED,
    ),
    Operation("waits", "GET", "/waits", "List what runs wait for.", WaitList, _waits, query=WaitsAsked),
    Operation(
        "answer",
        "POST",
        "/waits/{wait_id:path}",
        "Answer, decide or settle what a run waits for.",
        Done,
        _answer,
        body=AnswerWait,
    ),
    Operation(
        "conversation",
        "GET",
        "/conversations/{conversation_id}",
        "Show what was said in a conversation with an agent.",
        ConversationShown,
        _conversation,
        query=ConversationAsked,
    ),
    Operation(
        "say",
        "POST",
        "/conversations/{conversation_id}",
        "Say something in a conversation with an agent, which begins or goes on with it.",
        RunStarted,
        _say,
        body=SayMessage,
        status=_ACCEPTED,
        takes_key=True,
        streams=True,
        begin=_say_stream,
    ),
    Operation("schedules", "GET", "/schedules", "List schedules.", ScheduleList, _schedules, query=SchedulesAsked),
    Operation(
        "pause_schedule",
        "POST",
        "/schedules/{key:path}/pause",
        "Start no runs of a schedule until it is resumed.",
        Done,
        _pause_schedule,
    ),
    Operation(
        "resume_schedule",
        "POST",
        "/schedules/{key:path}/resume",
        "Start runs of a schedule again, from its next time on.",
        Done,
        _resume_schedule,
    ),
    Operation("delete_schedule", "DELETE", "/schedules/{key:path}", "Forget a schedule.", Done, _delete_schedule),
)
