"""What is kept of authorizations: what people are asked, their attempts, and what they have granted."""

import hashlib
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from ._token_store import TokenStore

AGAIN: Final = "open the address of the question again"


class Account(NamedTuple):
    """What tokens are for: one account at a server. Two servers of one address with two names have two.

    Attributes:
        server: Name of the server.
        url: Its address, without keys.
        client_id: What the authorization server calls this process; None if it has registered.
    """

    server: str
    url: str
    client_id: str | None

    @property
    def place(self) -> str:
        """Where they are kept."""
        return f"grant/{digest(f'{self.server} {self.url} {self.client_id}')}"


class Ticket(BaseModel, frozen=True):
    """What a person is asked to authorize.

    Attributes:
        server: Name of the server.
        url: Its address, without keys.
        redirect_uri: Where the authorization server sends the browser.
        client_id: What the authorization server calls this process; None to register.
        client_secret: Its secret.
        issuer: The authorization server; None for the one that the server names.
        scope: What to ask for; None for what the server wants.
        client_name: What people are told that asks.
        status: What the server answered.
        challenge: What it said that is needed.
        asked_at: When, in seconds since 1970.
    """

    server: str
    url: str
    redirect_uri: str
    client_id: str | None = None
    client_secret: str | None = None
    issuer: str | None = None
    scope: str | None = None
    client_name: str = ""
    status: int
    challenge: str
    asked_at: float

    @property
    def account(self) -> Account:
        """What tokens would be for."""
        return Account(self.server, self.url, self.client_id)


class Attempt(BaseModel, frozen=True):
    """One opening of the address of a ticket.

    Attributes:
        ticket_id: Of which ticket.
        ticket: The ticket.
        by: Who has opened it.
        browser: Digest of what the browser was given.
        verifier: The code verifier of PKCE.
        known: What was found out of the authorization server.
    """

    ticket_id: str
    ticket: Ticket
    by: str
    browser: str
    verifier: str
    known: dict[str, Any]


class Grant(BaseModel, frozen=True):
    """What a person has authorized.

    Attributes:
        tokens: As the authorization server gave them.
        known: What is known of that server, for refreshing them.
        granted_at: When, in seconds since 1970.
    """

    tokens: dict[str, Any]
    known: dict[str, Any]
    granted_at: float


async def grant_for(tokens: TokenStore, account: Account) -> Grant | None:
    """What was authorized for a server; None if nothing was."""
    found = await tokens.get(account.place)
    return None if found is None else Grant.model_validate_json(found)


async def keep_grant(tokens: TokenStore, account: Account, grant: Grant) -> None:
    """Keep what was authorized for a server."""
    await tokens.put(account.place, grant.model_dump_json())


def digest(text: str) -> str:
    """What a secret is kept as, if it only has to be known again."""
    return hashlib.sha256(text.encode()).hexdigest()
