"""What routes work with: the runner, and who asks."""

from dataclasses import field
from typing import Final

from starlette.requests import HTTPConnection

from stagepost._dataclasses import dataclass
from stagepost.agents import Tasks
from stagepost.workflows import Runner

from .._keys._caller import Caller
from .._keys._key import Scope
from .._verbs._hub_pace import HubPace
from .._verbs._verbs import Verbs
from ..errors import KeyRequired, NotServing
from ._limits import RequestLimits
from ._streams import OpenStreams

ASKED: Final = "stagepost.asked"  # in the scope of a request


@dataclass(frozen=True, slots=True)
class Serving:
    """What the routes of an application work with, while it serves.

    Attributes:
        runner: It is open.
        tasks: The runs of its agents.
        limits: What a caller may ask for.
        streams: Those that are open.
        pace: What is known of how fast its hub works.
    """

    runner: Runner
    tasks: Tasks
    limits: RequestLimits
    streams: OpenStreams
    pace: HubPace = field(default_factory=HubPace)

    @property
    def verbs(self) -> Verbs:
        """What anybody may do with its runs."""
        return Verbs(self.runner, self.tasks)

    @classmethod
    def of(cls, runner: Runner, limits: RequestLimits) -> "Serving":
        """With a runner."""
        return cls(runner, Tasks(runner), limits, OpenStreams(limits))


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of a request before a route sees it.

    Attributes:
        serving: What it is asked of; None before the application has started.
        caller: Who asks; None without a valid key.
        has_login: Whether that is known from the login of a page.
        address: From where; of IPv6, the network.
        request_id: Its id, also in the answer's header ``X-Request-ID`` and in the log.
        pages: What makes pages; None if the application has none.
    """

    serving: Serving | None
    caller: Caller | None
    has_login: bool
    address: str
    request_id: str
    pages: object | None = None

    @property
    def who(self) -> str:
        """Whose requests and streams are counted together."""
        return f"address {self.address}" if self.caller is None else f"key {self.caller.name}"


def asked(connection: HTTPConnection) -> Asked:
    """What is known of a request.

    Raises:
        RuntimeError: Its route is in no application that `create_app` has made.
    """
    found = connection.scope.get(ASKED)
    if not isinstance(found, Asked):
        raise RuntimeError(f"{connection.url.path} is no route of an application of create_app: give it as routes=")  # noqa: TRY004  # the route is in the wrong place; no type is wrong
    return found


def serving(connection: HTTPConnection) -> Serving:
    """What a route works with.

    Raises:
        NotServing: The application has not started, or has ended.
    """
    found = asked(connection).serving
    if found is None or not found.runner.is_open:
        raise NotServing
    return found


def caller(connection: HTTPConnection, scope: Scope) -> Caller:
    """Who asks, having seen that it may do this.

    Raises:
        KeyRequired: There is no key, or it is not known; the answer is 401.
        ScopeRequired: The key has not the scope; the answer is 403.
    """
    found = asked(connection).caller
    if found is None:
        raise KeyRequired
    found.require(scope)
    return found
