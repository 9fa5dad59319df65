"""MCP servers as data: which server, and which of its tools an agent may use."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final, TypeAlias, TypedDict, Unpack, get_args
from urllib.parse import urlsplit

from stagepost._dataclasses import dataclass
from stagepost.hub import Duration, seconds

from .._models._addresses import address_secrets, named_secrets, shown_address
from .._models._masking import KeyMask
from .._retries import Retries
from .._tools._globs import matches, read_globs
from .._tools._tool import TOOL_RETRIES, OnUnknown
from ..errors import InvalidServer
from ._oauth import AuthorizationCode, HttpAuth

_PREFIX: Final = re.compile(r"[a-zA-Z0-9_-]{0,32}")
_TIMEOUT: Final = 60.0
_WEEK: Final = 7 * 24 * 3600.0
_CONNECT_TIMEOUT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Stdio:
    """A server that is started as a process of ours and spoken to through its standard input and output."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Http:
    """A server over streamable HTTP."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    auth: HttpAuth | None = None

    def __repr__(self) -> str:
        return f"Http(url={shown_address(self.url)!r})"


@dataclass(frozen=True, slots=True)
class Memory:
    """A server object in this process."""

    server: object


Transport: TypeAlias = Stdio | Http | Memory


class McpOptions(TypedDict, total=False):
    """The options of servers with any transport; see `McpServer`."""

    name: str
    prefix: str
    include: Iterable[str]
    exclude: Iterable[str]
    timeout: Duration | None
    connect_timeout: Duration
    idempotent: Iterable[str] | None
    needs_approval: Iterable[str]
    on_unknown: OnUnknown
    retries: Retries | None
    answer_within: Duration | None


@dataclass(frozen=True, init=False, eq=False)
class McpServer:
    """An MCP server whose tools an agent may use, made by `stdio`, `http` or `memory`. A description, not a connection.

    Patterns are shell patterns (``get_*``), matched against the names that the server gives to its tools.

    Attributes:
        name: Its name in errors; by default the command, the host, or the server object's own name.
        prefix: Put before the names of its tools, so that they differ from others.
        include: Patterns of the tools to offer.
        exclude: Patterns of the tools to leave out.
        timeout: Seconds that a call may take; None for no limit.
        connect_timeout: Seconds in which the server has to start and list its tools.
        idempotent: Patterns of tools whose calls may simply be repeated. None trusts the server's annotations of tools
            as idempotent or read-only.
        needs_approval: Patterns of tools whose calls need a person's approval.
        on_unknown: What happens to a call that a crash has interrupted and that must not be repeated: ``"tell"`` tells
            the model that the outcome is unknown, ``"park"`` parks the run until a person decides.
        retries: When a call is retried: one of an idempotent tool after a lost connection or a timeout, any other only
            if the server could not be reached at all. None for never.
        answer_within: Seconds in which somebody has to answer what the server asks in the middle of a call; then it is
            told that nobody has chosen. None for no limit.
    """

    name: str
    transport: Transport
    prefix: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    timeout: float | None
    connect_timeout: float
    idempotent: tuple[str, ...] | None
    needs_approval: tuple[str, ...]
    on_unknown: OnUnknown
    retries: Retries | None
    answer_within: float | None

    def __init__(self, transport: Transport, default_name: str, options: McpOptions) -> None:
        idempotent = options.get("idempotent")
        timeout = options.get("timeout", _TIMEOUT)
        answer_within = options.get("answer_within", _WEEK)
        vars(self).update(
            transport=transport,
            name=options.get("name", default_name),
            prefix=options.get("prefix", ""),
            include=read_globs("include", options.get("include", ("*",))),
            exclude=read_globs("exclude", options.get("exclude", ())),
            timeout=None if timeout is None else seconds(timeout),
            connect_timeout=seconds(options.get("connect_timeout", _CONNECT_TIMEOUT)),
            idempotent=None if idempotent is None else read_globs("idempotent", idempotent),
            needs_approval=read_globs("needs_approval", options.get("needs_approval", ())),
            on_unknown=options.get("on_unknown", "tell"),
            retries=options.get("retries", TOOL_RETRIES),
            answer_within=None if answer_within is None else seconds(answer_within),
        )
        self._check()

    @classmethod
    def stdio(
        cls,
        command: str,
        *args: str,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        **options: Unpack[McpOptions],
    ) -> "McpServer":
        """A program that speaks MCP on standard input and output. It is started when needed, and ended afterwards.

        Args:
            command: The program.
            *args: Its arguments.
            env: Environment variables besides PATH, HOME and few others: it does not inherit the environment. Put
                secrets here, not into arguments.
            cwd: Folder to start it in.
            **options: See the attributes of the class.

        Raises:
            InvalidServer: An argument is invalid.
        """
        if not isinstance(command, str):
            raise InvalidServer(
                "stdio", f"its command is {command!r:.80}: give the program, and its arguments one by one"
            )
        transport = Stdio(command, args, dict(env or {}), None if cwd is None else os.fspath(cwd))
        return cls(transport, Path(command).stem, options)

    @classmethod
    def http(
        cls,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: HttpAuth | None = None,
        **options: Unpack[McpOptions],
    ) -> "McpServer":
        """A server over streamable HTTP.

        Args:
            url: Its URL.
            headers: Headers of each request, such as one with a token.
            auth: Lets the process in by OAuth: as itself, or as a person authorizes it.
            **options: See the attributes of the class.

        Raises:
            InvalidServer: An argument is invalid.
        """
        return cls(Http(url, dict(headers or {}), auth), _host(url), options)

    @classmethod
    def memory(cls, server: object, **options: Unpack[McpOptions]) -> "McpServer":
        """A server object in this process, for tests and for your own tools.

        Args:
            server: An ``MCPServer`` or ``Server`` of the SDK.
            **options: See the attributes of the class.

        Raises:
            InvalidServer: An argument is invalid.
        """
        return cls(Memory(server), str(getattr(server, "name", "memory")), options)

    @property
    def secrets(self) -> Sequence[str]:
        """The secrets of the server: keys in its URL, headers and variables."""
        return _secrets(self.transport, likely=True)

    def mask(self, text: str) -> str:
        """The text with everything masked that the server's URL, headers and variables contain."""
        return KeyMask(_secrets(self.transport, likely=False)).known(text)

    def offers(self, tool: str) -> bool:
        """Whether the agent may use a tool of this name."""
        return matches(tool, self.include) and not matches(tool, self.exclude)

    def is_idempotent(self, tool: str, *, marked: bool) -> bool:
        """Whether calls of a tool may be repeated, given the server's annotation."""
        return marked if self.idempotent is None else matches(tool, self.idempotent)

    def asks_approval(self, tool: str) -> bool:
        """Whether calls of a tool need a person's approval."""
        return matches(tool, self.needs_approval)

    @property
    def is_authorized_by_people(self) -> bool:
        """Whether a person may have to let this process in."""
        return isinstance(self.transport, Http) and isinstance(self.transport.auth, AuthorizationCode)

    def _check(self) -> None:
        if not self.name:
            raise InvalidServer(repr(self.transport), "it has no name: give name=")
        if _PREFIX.fullmatch(self.prefix) is None:
            raise InvalidServer(self.name, f"prefix={self.prefix!r}: use up to 32 of A-Z, a-z, 0-9, '_' and '-'")
        if isinstance(self.transport, Http) and not self.transport.url.startswith(("http://", "https://")):
            raise InvalidServer(
                self.name,
                f"url={shown_address(self.transport.url)!r} is not an address: begin it with http:// or https://",
            )
        if isinstance(self.transport, Http):
            self._check_auth(self.transport)
        if self.on_unknown not in get_args(OnUnknown):
            raise InvalidServer(self.name, f"on_unknown={self.on_unknown!r}: give 'tell' or 'park'")
        if not self.connect_timeout:
            raise InvalidServer(self.name, "connect_timeout=0 leaves no time to connect: give more than 0 seconds")

    def _check_auth(self, http: Http) -> None:
        if http.auth is None:
            return
        if not isinstance(http.auth, HttpAuth):
            raise InvalidServer(
                self.name,
                f"auth={http.auth!r:.80}: give a ClientCredentials(…) or an AuthorizationCode(…)",
            )
        if any(name.lower() == "authorization" for name in http.headers):
            raise InvalidServer(self.name, "headers= and auth= both let it in: leave the header authorization out")


def _host(url: str) -> str:
    """The host in an address; or what may be shown of it, if it is none."""
    try:
        return urlsplit(url).hostname or shown_address(url)
    except ValueError:
        return shown_address(url)


def _secrets(transport: Transport, *, likely: bool) -> Sequence[str]:
    match transport:
        case Http(url, headers, auth):
            own = () if auth is None or auth.client_secret is None else (auth.client_secret,)
            return (*address_secrets(url, likely=likely), *named_secrets(headers, likely=likely), *own)
        case Stdio():
            return tuple(named_secrets(transport.env, likely=likely))
        case _:
            return ()
