"""What can be asked for over HTTP, as rows of a table."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeAlias

from stagepost._dataclasses import dataclass
from stagepost.agents import TaskStream
from stagepost.workflows import RunStream

from ..._keys._caller import Caller
from ..._verbs._verbs import Verbs
from ..._wire._asked import Asked
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
        verb: Which of the verbs it is, by whose name its scope is found.
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
    """

    verb: str
    method: str
    path: str
    summary: str
    output: type[Output] | None
    act: Act | None
    query: type[Asked] | None = None
    body: type[Asked] | None = None
    status: HTTPStatus = HTTPStatus.OK
    takes_key: bool = False
    streams: bool = False
    begin: Begin | None = None
