"""What an `AuthorizationCode` accepts, and what of an authorization server is not good enough."""

from typing import Any

import pytest
from anyio import fail_after

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull
from tests.agents._weather import results
from tests.agents.mcp._authority import Authority, serving
from tests.agents.mcp._calling import use

from stagepost.agents import (
    Agent,
    AuthorizationCode,
    AuthorizationFailed,
    Authorizations,
    McpConnections,
    McpServer,
    MemoryTokenStore,
    NobodyToAnswer,
    ScriptedModel,
    call,
)
from stagepost.agents._mcp._grants import Account, Attempt, Grant, Ticket, digest, grant_for, keep_grant
from stagepost.agents._mcp._sdk_code import _Provider, _requests
from stagepost.agents._mcp._sdk_code_auth import AuthorizationNeeded, CodeAuth
from stagepost.agents._mcp._sdk_reason import refusal

BACK = "https://runs.example/oauth/callback"
URL = "https://vault.example/mcp"
ACCOUNT = Account("vault", URL, None)
AS = "https://auth.example"
KNOWN: dict[str, Any] = {
    "server": {
        "issuer": AS,
        "authorization_endpoint": f"{AS}/authorize?tenant=1",
        "token_endpoint": f"{AS}/token",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    },
    "client": {"client_id": "ours"},
    "resource": None,
    "scope": "read offline_access",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def ticket(**options: Any) -> Ticket:
    given = {"server": "vault", "url": URL, "redirect_uri": BACK, "status": 401, "challenge": "", "asked_at": 0.0}
    return Ticket.model_validate({**given, **options})


def provider(given: Ticket, **server: Any) -> _Provider:
    made = _Provider(given, None)
    made.restore({**KNOWN, "server": {**KNOWN["server"], **server}})
    return made


def code_auth(tokens: MemoryTokenStore) -> CodeAuth:
    return CodeAuth("vault", URL, AuthorizationCode(BACK, tokens))


@pytest.mark.parametrize(
    ("redirect_uri", "options", "why"),
    [
        ("http://runs.example/oauth/callback", {}, "https://"),
        ("https://runs.example/callback", {}, "/oauth/callback"),
        ("https://runs.example/oauth/callback/", {}, "/oauth/callback"),
        (f"{BACK}?a=1", {}, "nothing more"),
        (f"{BACK}#a", {}, "nothing more"),
        (BACK, {"client_id": "ours"}, "issuer="),
        (BACK, {"client_secret": "s"}, "client_id="),
        (BACK, {"issuer": "auth.example"}, "URL"),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_given(redirect_uri: str, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        AuthorizationCode(redirect_uri, MemoryTokenStore(), **options)


def test_neither_tokens_nor_the_secret_are_shown() -> None:
    auth = AuthorizationCode(BACK, MemoryTokenStore(), client_id="ours", client_secret="hush-hush", issuer=AS)  # noqa: S106  # a test's
    server = McpServer.http(URL, auth=auth)
    assert ("hush" in repr(auth), "hush" in repr(server), server.mask("a hush-hush")) == (False, False, "a ***")


def test_the_address_of_an_authorization_server_keeps_its_own_parameters() -> None:
    url = provider(ticket()).outgoing(ticket(), "s").url
    assert url.startswith(f"{AS}/authorize?tenant=1&response_type=code&client_id=ours&redirect_uri=https%3A%2F%2Fruns")
    assert "&prompt=consent" in url
    assert "&resource=https%3A%2F%2Fvault.example%2Fmcp" in url


@pytest.mark.parametrize(
    ("given", "server", "why"),
    [
        (ticket(), {"code_challenge_methods_supported": None}, "PKCE"),
        (ticket(), {"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        (ticket(), {"token_endpoint": "http://auth.example/token"}, "not https"),
        (ticket(issuer="https://other.example"), {}, r"leads to https://auth\.example"),
    ],
)
def test_an_authorization_server_that_is_not_good_enough_is_not_used(
    given: Ticket, server: dict[str, Any], why: str
) -> None:
    with pytest.raises(OAuthFlowError, match=why):
        provider(given, **server).outgoing(given, "s")


def test_an_authorization_server_without_metadata_is_not_used() -> None:
    bare = _Provider(ticket(), None)
    bare.context.client_info = OAuthClientInformationFull(client_id="ours")
    with pytest.raises(OAuthFlowError, match="no metadata"):
        bare.outgoing(ticket(), "s")


async def test_a_refresh_that_fails_for_now_loses_no_token() -> None:
    tokens = MemoryTokenStore()
    given = {"access_token": "a1", "refresh_token": "r1"}
    await keep_grant(tokens, ACCOUNT, Grant(tokens=given, known=KNOWN, granted_at=1.0))
    auth = code_auth(tokens)
    sent = await _renewing(auth, httpx2.Response(503))
    assert sent[-1] == "the authorization server answers 503 to a refresh"
    kept = await grant_for(tokens, ACCOUNT)
    assert kept is not None
    assert kept.tokens == given


async def test_a_refresh_that_is_refused_has_a_person_asked() -> None:
    tokens = MemoryTokenStore()
    given = {"access_token": "a1", "refresh_token": "r1"}
    await keep_grant(tokens, ACCOUNT, Grant(tokens=given, known=KNOWN, granted_at=1.0))
    sent = await _renewing(code_auth(tokens), httpx2.Response(400, json={"error": "invalid_grant"}))
    assert sent == ["Bearer a1", f"{AS}/token", "a person has to authorize it"]


async def test_tokens_are_used_that_another_process_has_got_by_the_same_refresh_token() -> None:
    tokens = MemoryTokenStore()
    given = {"access_token": "a1", "refresh_token": "r1"}
    await keep_grant(tokens, ACCOUNT, Grant(tokens=given, known=KNOWN, granted_at=1.0))
    request = httpx2.Request("POST", URL)
    flow = code_auth(tokens).async_auth_flow(request)
    await anext(flow)
    refreshing = await flow.asend(httpx2.Response(401, request=request))
    await keep_grant(tokens, ACCOUNT, Grant(tokens={"access_token": "a2"}, known=KNOWN, granted_at=2.0))
    refused = httpx2.Response(400, json={"error": "invalid_grant"}, request=refreshing)
    assert (await flow.asend(refused)).headers["Authorization"] == "Bearer a2"
    await flow.aclose()


async def test_tokens_that_another_process_has_got_are_used() -> None:
    tokens = MemoryTokenStore()
    await keep_grant(tokens, ACCOUNT, Grant(tokens={"access_token": "a1"}, known=KNOWN, granted_at=1.0))
    auth = code_auth(tokens)
    request = httpx2.Request("POST", URL)
    flow = auth.async_auth_flow(request)
    assert (await anext(flow)).headers["Authorization"] == "Bearer a1"
    await keep_grant(tokens, ACCOUNT, Grant(tokens={"access_token": "a2"}, known=KNOWN, granted_at=2.0))
    assert (await flow.asend(httpx2.Response(401, request=request))).headers["Authorization"] == "Bearer a2"
    await flow.aclose()
    assert auth.secrets == ["a1", "a2"]


async def test_a_plain_refusal_asks_nobody() -> None:
    auth = code_auth(MemoryTokenStore())
    request = httpx2.Request("POST", URL)
    flow = auth.async_auth_flow(request)
    await anext(flow)
    with pytest.raises(StopAsyncIteration):
        await flow.asend(httpx2.Response(403, request=request))


async def test_what_a_server_wants_is_known_of_a_connection_that_failed() -> None:
    auth = code_auth(MemoryTokenStore())
    request = httpx2.Request("POST", URL)
    flow = auth.async_auth_flow(request)
    await anext(flow)
    with pytest.raises(AuthorizationNeeded) as caught:
        await flow.asend(httpx2.Response(401, headers={"WWW-Authenticate": 'Bearer scope="read"'}, request=request))
    found = refusal(ExceptionGroup("of a task group", [caught.value]))
    assert found is not None
    assert (found.status, found.challenge) == (401, 'Bearer scope="read"')
    assert refusal(OSError("no route")) is None


async def test_of_two_callbacks_at_once_one_counts() -> None:
    class Taken(MemoryTokenStore):
        async def take(self, name: str) -> str | None:
            await super().take(name)  # the other callback was faster
            return None

    tokens = Taken()
    attempt = Attempt(ticket_id="t", ticket=ticket(), by="ann", browser=digest("b"), verifier="v", known=KNOWN)
    await tokens.put(f"attempt/{digest('s')}", attempt.model_dump_json())
    with pytest.raises(AuthorizationFailed, match="over"):
        await Authorizations(tokens).finish({"state": "s", "code": "c"}, "b")


async def test_an_answer_that_is_too_long_is_not_read() -> None:
    async with _requests() as send:
        send._client = httpx2.AsyncClient(  # a server that answers without end
            transport=httpx2.MockTransport(lambda _request: httpx2.Response(200, content=b"x" * 1_000_001))
        )
        with pytest.raises(OAuthFlowError, match="too much"):
            await send(httpx2.Request("GET", AS))


async def test_without_a_runner_nobody_can_be_asked() -> None:
    with fail_after(60):
        async with serving(Authority()) as authority:
            auth = AuthorizationCode("http://127.0.0.1/oauth/callback", MemoryTokenStore())
            server = McpServer.http(f"{authority.base}/mcp", name="vault", auth=auth)
            agent = Agent("a", "", model=ScriptedModel([call("authorize_vault"), "done"]), tools=[server])
            (told,) = results(await agent.run("go"))
            async with McpConnections([server]) as connections:
                tools = await connections.tools()
                alone = await use(tools, "authorize_vault")
    assert "run the agent on a Runner" in told.text
    assert [tool.name for tool in tools] == ["authorize_vault"]
    assert alone.is_error
    assert NobodyToAnswer.__name__ in alone.text


async def _renewing(auth: CodeAuth, answer: httpx2.Response) -> list[str]:
    """What is sent when a server refuses a token, and how it ends."""
    request = httpx2.Request("POST", URL)
    flow = auth.async_auth_flow(request)
    sent = [(await anext(flow)).headers["Authorization"]]
    refreshing = await flow.asend(httpx2.Response(401, request=request))
    sent.append(str(refreshing.url))
    answer.request = refreshing
    with pytest.raises(OAuthFlowError) as caught:
        await flow.asend(answer)
    return [*sent, str(caught.value)]
