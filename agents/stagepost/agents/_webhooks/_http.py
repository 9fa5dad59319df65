"""Requests by httpx2, which few need."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from math import inf
from typing import Final

import anyio
import httpx2

from ..errors import InvalidWebhook
from ._address import host_of, shown_url
from ._verdict import Failed

_SHORT: Final = 4096  # bytes of an answer; of a longer one nothing is read, and its connection is not used again
_PATIENCE: Final = 1.0  # seconds for these bytes, and for closing


class _HiddenUrl(httpx2.URL):
    """A URL that is used as it is; what the library logs of it is the host."""

    def __str__(self) -> str:
        return f"{self.scheme}://{host_of(super().__str__())}/…"


class HttpSender:
    """Posts to URLs.

    Args:
        client: What with.
        timeout: Seconds until the status of an answer must be there.
    """

    def __init__(self, client: httpx2.AsyncClient, timeout: float) -> None:
        self._client = client
        self._timeout = timeout

    def check(self, url: str) -> None:
        """See that a URL can be used.

        Raises:
            InvalidWebhook: It cannot.
        """
        try:
            httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise InvalidWebhook(f"url={shown_url(url)!r:.200} cannot be used: {error}") from None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str]]:
        """Post once, without following a redirect; the status and headers of the answer.

        Raises:
            Failed: There is no answer.
        """
        request = self._client.build_request("POST", url, headers=dict(headers), content=body)
        request.url = _HiddenUrl(url)
        try:
            with anyio.fail_after(self._timeout):
                response = await self._client.send(request, stream=True)
        except TimeoutError:
            raise Failed(f"the receiver did not answer within {self._timeout:g} s") from None
        except httpx2.HTTPError as error:
            raise Failed(f"the receiver cannot be reached, or has hung up ({type(error).__name__})") from error
        await _drain(response)
        return response.status_code, response.headers


@asynccontextmanager
async def opened(timeout: float) -> AsyncIterator[HttpSender]:
    """What posts, for the length of a block.

    Args:
        timeout: Seconds until the status of an answer must be there.
    """
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))  # one receiver may set none for another
    async with httpx2.AsyncClient(
        timeout=None,  # one limit for the whole request is set where it is sent
        follow_redirects=False,
        cookies=no_cookies,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        headers={"user-agent": "stagepost", "accept": "*/*", "accept-encoding": "identity"},
    ) as client:
        yield HttpSender(client, timeout)


async def _drain(response: httpx2.Response) -> None:
    """Read a short answer, so that the connection can be used again; what it says is of no use."""
    try:
        if _length(response) <= _SHORT:
            with anyio.move_on_after(_PATIENCE), suppress(httpx2.HTTPError):
                async for _ in response.aiter_raw():
                    pass
    finally:
        with anyio.move_on_after(_PATIENCE, shield=True):
            await response.aclose()


def _length(response: httpx2.Response) -> float:
    """How many bytes an answer has; infinity if it does not say."""
    if response.status_code == httpx2.codes.NO_CONTENT:
        return 0
    told = response.headers.get("content-length", "")
    return int(told) if told.isascii() and told.isdigit() else inf
