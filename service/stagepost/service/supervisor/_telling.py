"""From the parts of a task's stream to the events of a turn: one part in, none, one or two events out. Pure.

What a reader was told is in `TurnProgress`, which each event has in its id. Beside it `Telling` only remembers the
pieces of the answer that the supervisor is giving; a stream that is joined in the middle of an answer begins with all
of them, as one piece.

A model that is asked again, after an error or a crash, may say something else than it had begun to say. Its new answer
is held back until it is as long as what was told. If it begins in the same way, the rest follows; otherwise
``token_reset`` says that what was told of it is void.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from pydantic_core import to_json

from stagepost.agents import (
    AgentFinished,
    AgentStarted,
    ApprovalAsked,
    ApprovalDecided,
    DoubtRaised,
    DoubtSettled,
    Gap,
    MessageSaid,
    QuestionAnswered,
    QuestionAsked,
    StreamPart,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TokenArrived,
    ToolCalled,
    ToolReturned,
)

from ._events import ChatEvent
from ._phrases import FAILED, worker_failed, worker_silent
from ._progress import OpenCall, TurnProgress, check_of, event_id

BETWEEN: Final = "\n\n"  # two answers of the supervisor in one turn, as beside calls and after them
_COMMON: Final = frozenset({"type", "timestamp", "task_id", "seq", "cursor", "path", "call_id", "visit"})
_WAITS: Final = (ApprovalAsked, ApprovalDecided, QuestionAsked, QuestionAnswered, DoubtRaised, DoubtSettled)


class Telling:
    """Tells one reader of a turn.

    Args:
        session_id: The session.
        progress: What the reader was told before.
    """

    def __init__(self, session_id: str, progress: TurnProgress) -> None:
        self._session_id = session_id
        self._progress = progress
        self._pieces: str | None = ""  # of the next answer; None if some are missing
        self._is_known = False  # whether they begin with what was told

    def tell(self, part: StreamPart) -> Iterator[ChatEvent]:
        """The events of the next part."""
        if isinstance(part, _WAITS):
            yield self._wait(part)
        elif len(part.path) > 1:
            yield from self._of_worker(part)
        else:
            yield from self._of_supervisor(part)
        if part.cursor is not None:
            self._progress = self._progress._replace(cursor=part.cursor)

    def _of_supervisor(self, part: StreamPart) -> Iterator[ChatEvent]:
        """What the supervisor says, calls and hears."""
        match part:
            case TokenArrived(kind="text"):
                yield from self._piece(part)
            case Gap():
                self._pieces = None
            case MessageSaid():
                yield from self._said(part)
            case ToolCalled():
                yield from self._called(part)
            case AgentStarted():
                self._started(part)
            case AgentFinished():
                yield self._finished(part)
            case ToolReturned():
                yield self._returned(part)
            case TaskCompleted():
                yield self._event("done", {}, part.timestamp, part.cursor)
            case TaskFailed() | TaskCancelled():
                yield self._event("error", {"message": FAILED}, part.timestamp, part.cursor)

    def _piece(self, part: TokenArrived) -> Iterator[ChatEvent]:
        """A piece of the supervisor's answer."""
        if part.index == 0:
            self._pieces, self._is_known = "", False
        if self._pieces is None:
            return
        self._pieces += part.token
        if len(self._pieces) >= self._progress.told:
            yield from self._text(self._pieces, part.timestamp)

    def _text(self, text: str, at: datetime, whole: str | None = None) -> Iterator[ChatEvent]:
        """What the reader does not know yet of the supervisor's answer.

        Args:
            text: How it begins.
            at: When.
            whole: The cursor after it, if the text is all of it.
        """
        if not (self._is_known or self._progress.has_told(text)):
            yield from self._void(at)
        self._is_known = whole is None
        progress = self._progress
        content = text[progress.told :]
        self._progress = progress._replace(told=len(text), check=check_of(content, progress.check))
        if whole is not None:
            self._settle(len(text))
        if content:
            between = BETWEEN if progress.settled and not progress.told else ""
            yield self._event("token", {"content": between + content}, at, whole)

    def _void(self, at: datetime) -> Iterator[ChatEvent]:
        """What was told of the supervisor's answer is void."""
        if self._progress.told:
            self._progress = self._progress._replace(told=0, check=0)
            yield self._event("token_reset", {"length": self._progress.settled}, at)

    def _settle(self, length: int) -> None:
        """An answer of the supervisor was told as a whole."""
        before = self._progress.settled
        settled = before + (len(BETWEEN) if before else 0) + length
        self._progress = self._progress._replace(settled=settled, told=0, check=0)

    def _said(self, part: MessageSaid) -> Iterator[ChatEvent]:
        """A message of the supervisor's run."""
        if part.role != "assistant":
            return
        self._is_known = False
        if part.text:
            yield from self._text(part.text, part.timestamp, part.cursor)
        else:
            yield from self._void(part.timestamp)
        self._pieces, self._is_known = "", False

    def _called(self, part: ToolCalled) -> Iterator[ChatEvent]:
        """The supervisor calls a tool."""
        yield from self._void(part.timestamp)
        self._pieces, self._is_known = "", False
        progress = self._progress
        made = OpenCall(progress.made + 1, part.name)
        self._progress = progress._replace(made=made.number, calls={**progress.calls, part.tool_call_id: made})
        data = {"tool": part.name, "args": _arguments(part)}
        yield self._event("tool_call", data, part.timestamp, part.cursor, made)

    def _started(self, part: AgentStarted) -> None:
        """A worker begins; its request follows."""
        known = self._progress.calls.get(part.call_id or "")
        if known is not None:
            begun = known._replace(visit=part.visit, started=part.timestamp.timestamp())
            self._progress = self._progress._replace(calls={**self._progress.calls, str(part.call_id): begun})

    def _of_worker(self, part: StreamPart) -> Iterator[ChatEvent]:
        """What a worker is asked, calls and hears; nothing of agents that it asks itself."""
        _, worker, *below = part.path
        if below:
            return
        match part:
            case ToolCalled():
                name, data = "worker_tool_call", {"tool": part.name, "args": _arguments(part)}
            case ToolReturned():  # of one that has failed nothing is shown: it may have insides
                told = part.result if part.success else _failed(part.name)
                name, data = "worker_tool_result", {"result": told}
            case MessageSaid(role="user", seq=0):  # later ones tell the model what is wrong with its answer
                name, data = "worker_started", {"request": part.text}
            case _:
                return
        call = self._progress.call_of(None, part.visit)
        yield self._event(name, {"worker": worker, **data}, part.timestamp, part.cursor, call)

    def _finished(self, part: AgentFinished) -> ChatEvent:
        """A worker has answered, or failed."""
        call = self._progress.calls.get(part.call_id or "")
        answer = part.result if isinstance(part.result, str) else ""
        is_ok = part.status == "completed" and bool(answer.strip())
        if not is_ok:
            answer = worker_silent(part.agent) if part.status == "completed" else worker_failed(part.agent)
        took = 0.0 if call is None else max(part.timestamp.timestamp() - call.started, 0.0)
        data = {
            "worker": part.agent,
            "response": answer,
            "status": "ok" if is_ok else "failed",
            "duration_ms": round(took * 1000, 3),
        }
        return self._event("worker_completed", data, part.timestamp, part.cursor, call)

    def _returned(self, part: ToolReturned) -> ChatEvent:
        """The supervisor has the result of a call."""
        progress = self._progress
        call = progress.calls.get(part.tool_call_id)
        open_calls = {key: each for key, each in progress.calls.items() if key != part.tool_call_id}
        self._progress = progress._replace(calls=open_calls)
        return self._event("tool_result", {"tool": part.name, "result": part.result}, part.timestamp, part.cursor, call)

    def _wait(self, part: StreamPart) -> ChatEvent:
        """What a person has to say to a call, or has said."""
        own = {name: value for name, value in part.to_dict().items() if name not in _COMMON}
        worker = part.path[1] if len(part.path) > 1 else None
        call = self._progress.call_of(part.call_id, part.visit)
        return self._event(part.type, {**own, "worker": worker}, part.timestamp, part.cursor, call)

    def _event(
        self,
        name: str,
        data: Mapping[str, Any],
        at: datetime,
        cursor: str | None = None,
        call: OpenCall | None = None,
    ) -> ChatEvent:
        """The next event.

        Args:
            name: What has happened.
            data: What belongs to it.
            at: When.
            cursor: That of the part, if this is the last event of a part that has one.
            call: The call of the supervisor that it belongs to.
        """
        progress = self._progress
        self._progress = progress._replace(seq=progress.seq + 1, cursor=cursor or progress.cursor)
        common = {
            "seq": self._progress.seq,
            "call_id": None if call is None else call.id,
            "session_id": self._session_id,
            "timestamp": at.isoformat(),
        }
        return ChatEvent(name, {**data, **common}, event_id(self._progress))


def _arguments(part: ToolCalled) -> Mapping[str, Any]:
    """The arguments of a call; what the model wrote as ``text``, if that is no JSON object."""
    return part.arguments if isinstance(part.arguments, dict) else {"text": part.arguments}


def _failed(tool: str) -> str:
    """What is told of the result of a worker's tool that has failed, as JSON."""
    return to_json({"error": f"{tool} has failed"}).decode()
