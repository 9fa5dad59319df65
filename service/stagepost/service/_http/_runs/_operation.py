"""What can be asked for over HTTP, as rows of a table."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeAlias

from pydantic import BaseModel

from stagepost._dataclasses import dataclass
from stagepost.agents import TaskStream
from stagepost.workflows import RunStream

from ..._keys._caller import Caller
from ..._keys._key import Scope
from ..._verbs._scopes import SCOPES
from ..._verbs._verbs import Verbs
from ..._wire._output import Output


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was checked.

    Attributes:
        verbs: What carries it out.
        caller: Who asks.
        path: What the path names.
        query: What stands after the question mark, as `Operation.query`.
        body: The body, as `Operation.body`.
        key: The header ``Idempotency-Key``.
    """

    verbs: Verbs
    caller: Caller
    path: Mapping[str, str]
    query: Any = None
    body: Any = None
    key: str | None = None


Act: TypeAlias = Callable[[Call], Awaitable[Output]]

Begin: TypeAlias = Callable[[Call, str | None], Awaitable[TaskStream[Any] | RunStream]]
"""Makes a stream that starts something when it is entered, and goes on after a cursor."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that can be asked for.

    Attributes:
        verb: Which of the verbs it is, by whose name its scope is found; of what is none of them, its name.
        method: The HTTP method.
        path: The path; ``{name:path}`` may hold slashes.
        summary: What it does, in one sentence.
        output: What is answered.
        act: Carries it out.
        query: What may stand after the question mark.
        body: What has to be sent.
        status: The status of the answer.
        takes_key: Whether it takes an ``Idempotency-Key``.
        streams: Whether it is answered with server-sent events: always, or if the client accepts them.
        begin: Makes these, if they are sent only to a client that accepts them.
        scope: What a key needs for it, if it is none of the verbs.
        is_open: Whether it is answered without a key, too, and as unavailable in the same form.
    """

    verb: str
    method: str
    path: str
    summary: str
    output: type[BaseModel] | None
    act: Act | None
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    status: HTTPStatus = HTTPStatus.OK
    takes_key: bool = False
    streams: bool = False
    begin: Begin | None = None
    scope: Scope | None = None
    is_open: bool = False

    @property
    def needed(self) -> Scope:
        """What a key needs for it."""
        return self.scope or SCOPES[self.verb]
