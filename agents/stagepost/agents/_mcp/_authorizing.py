"""The way from the question to a person to the tokens of a server, in steps that each outlive the process.

A call that a server refuses makes a *ticket*, whose address the person is asked to open. Each time it is opened, an
*attempt* begins, with a state and a PKCE verifier of its own, bound to the browser; it is over after some minutes, or
after one callback. A callback that brings a code makes a *grant*: the tokens.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from hmac import compare_digest
from typing import TYPE_CHECKING, Final, Literal

from stagepost._dataclasses import dataclass
from stagepost.workflows import ExtraMissing

from ..errors import AuthorizationFailed
from ._grants import AGAIN, Attempt, Grant, Ticket, digest, grant_for, keep_grant
from ._remote import Refusal
from ._token_store import TokenStore

if TYPE_CHECKING:
    from . import _sdk_code
    from ._oauth import AuthorizationCode

_ATTEMPT: Final = 600.0  # seconds between the address being opened and the callback
_DENIED: Final = "access_denied"
_SECRET: Final = 24  # bytes of a random text


@dataclass(frozen=True, slots=True)
class AuthorizationBegun:
    """An attempt that has begun.

    Attributes:
        url: The address of the authorization server that the browser is to go to; None if there are tokens already.
        state: Names the attempt.
        browser: What the browser has to bring back with the callback.
        server: Name of the MCP server.
        is_secure: Whether the callback comes over https.
    """

    url: str | None
    state: str = ""
    browser: str = ""
    server: str = ""
    is_secure: bool = True


@dataclass(frozen=True, slots=True)
class AuthorizationEnded:
    """How a callback has ended.

    Attributes:
        ticket_id: What was asked.
        server: Name of the MCP server.
        outcome: Whether the person has consented.
        by: Who has opened the address.
    """

    ticket_id: str
    server: str
    outcome: Literal["granted", "refused"]
    by: str


class Authorizations:
    """What people have authorized, and what they are asked to; knows no HTTP of its own.

    Args:
        tokens: Keeps it.
        clock: Seconds since 1970.
    """

    def __init__(self, tokens: TokenStore, *, clock: Callable[[], float] = time.time) -> None:
        self._tokens = tokens
        self._clock = clock

    async def ask(
        self, server: str, url: str, auth: "AuthorizationCode", refusal: Refusal, within: float | None
    ) -> str:
        """The address that a person is to open.

        Args:
            server: Name of the server.
            url: Its address, without keys.
            auth: How to be let in.
            refusal: What the server said.
            within: For how many seconds the address is good; None for ever.
        """
        now, ticket_id = self._clock(), secrets.token_urlsafe(_SECRET)
        ticket = Ticket(
            server=server,
            url=url,
            redirect_uri=auth.redirect_uri,
            client_id=auth.client_id,
            client_secret=auth.client_secret,
            issuer=auth.issuer,
            scope=auth.scope,
            client_name=auth.client_name,
            status=refusal.status,
            challenge=refusal.challenge,
            asked_at=now,
        )
        until = None if within is None else within + _ATTEMPT
        await self._tokens.put(f"ticket/{ticket_id}", ticket.model_dump_json(), within=until)
        return f"{auth.redirect_uri.removesuffix('/callback')}/start/{ticket_id}"

    async def begin(self, ticket_id: str, *, by: str) -> AuthorizationBegun:
        """Begin an attempt.

        Args:
            ticket_id: The last part of the address that somebody has opened.
            by: Who has.

        Raises:
            AuthorizationFailed: The address is not known or too old, or the authorization server does not let anybody
                begin.
        """
        ticket = await self._ticket(ticket_id)
        if ticket is None:
            raise AuthorizationFailed("this address is not known, or too old: ask for a new one")
        if await self._is_granted(ticket):
            return AuthorizationBegun(None)
        state, browser = secrets.token_urlsafe(_SECRET), secrets.token_urlsafe(_SECRET)
        outgoing = await _sdk().begin(ticket, state, await self._client(ticket_id, ticket))
        if ticket.client_id is None:
            await self._tokens.put(f"client/{_place(ticket)}", outgoing.client)
        attempt = Attempt(
            ticket_id=ticket_id,
            ticket=ticket,
            by=by,
            browser=digest(browser),
            verifier=outgoing.verifier,
            known=outgoing.known,
        )
        await self._tokens.put(f"attempt/{digest(state)}", attempt.model_dump_json(), within=_ATTEMPT)
        is_secure = ticket.redirect_uri.startswith("https:")
        return AuthorizationBegun(outgoing.url, state, browser, ticket.server, is_secure)

    async def finish(self, said: Mapping[str, str], browser: str) -> AuthorizationEnded:
        """What has come of an attempt. Each has one callback.

        Args:
            said: The parameters of the callback.
            browser: What the browser has brought back.

        Raises:
            AuthorizationFailed: It is not known or is over, comes from another browser or another authorization server,
                or that gives no tokens.
        """
        place = f"attempt/{digest(said.get('state', ''))}"
        found = await self._tokens.get(place)
        if found is None:
            raise AuthorizationFailed(f"this attempt is not known, too old, or over: {AGAIN}")
        attempt = Attempt.model_validate_json(found)
        if not compare_digest(attempt.browser, digest(browser)):
            raise AuthorizationFailed(f"this attempt was begun in another browser: {AGAIN}")
        if await self._tokens.take(place) is None:
            raise AuthorizationFailed(f"this attempt is over: {AGAIN}")
        return await self._finished(attempt, said)

    async def _ticket(self, ticket_id: str) -> Ticket | None:
        """A ticket; None if it is not known, or too old."""
        found = await self._tokens.get(f"ticket/{ticket_id}")
        return None if found is None else Ticket.model_validate_json(found)

    async def is_answered(self, ticket_id: str) -> bool:
        """Whether there are tokens that are newer than a question."""
        ticket = await self._ticket(ticket_id)
        return ticket is not None and await self._is_granted(ticket)

    async def _client(self, ticket_id: str, ticket: Ticket) -> str | None:
        """The client that was registered before.

        It is not used for an address that is opened again: maybe nobody came back because the authorization server has
        forgotten it.
        """
        is_again = await self._tokens.get(f"opened/{ticket_id}") is not None
        await self._tokens.put(f"opened/{ticket_id}", "", within=_ATTEMPT)
        return None if is_again else await self._tokens.get(f"client/{_place(ticket)}")

    async def _is_granted(self, ticket: Ticket) -> bool:
        grant = await grant_for(self._tokens, ticket.account)
        return grant is not None and grant.granted_at >= ticket.asked_at

    async def _finished(self, attempt: Attempt, said: Mapping[str, str]) -> AuthorizationEnded:
        sdk, ticket = _sdk(), attempt.ticket
        sdk.check_issuer(attempt, said.get("iss"))
        if said.get("error") == _DENIED:
            return AuthorizationEnded(attempt.ticket_id, ticket.server, "refused", attempt.by)
        code = said.get("code")
        if "error" in said or not code:
            raise AuthorizationFailed(f"the authorization server reports an error: {AGAIN}")
        tokens = await sdk.exchange(attempt, code)
        now = self._clock()
        grant = Grant(tokens=tokens, known=attempt.known, granted_at=now)
        await keep_grant(self._tokens, ticket.account, grant)
        return AuthorizationEnded(attempt.ticket_id, ticket.server, "granted", attempt.by)


def _place(ticket: Ticket) -> str:
    return digest(f"{ticket.url} {ticket.client_id} {ticket.redirect_uri}")


def _sdk() -> "type[_sdk_code.Flow]":
    try:
        from ._sdk_code import Flow  # noqa: PLC0415  # an extra, and half a second
    except ImportError as error:
        raise ExtraMissing("AuthorizationCode", "mcp", "mcp") from error
    return Flow
