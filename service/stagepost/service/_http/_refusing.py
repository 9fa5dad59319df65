"""What is refused before it is known who asks: pure functions of a request."""

import re
from collections.abc import Collection
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from ..errors import MalformedRequest, RequestRefused

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_SINGLE: Final = ("authorization", "content-length", "content-type", "host", "idempotency-key", "origin", "x-api-key")
_STRANGE: Final = re.compile(r"[\x00-\x1f\x7f\\\ufffd]|//|/\.{1,2}(?:/|$)")
_FORWARDED: Final = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_NAMES: Final = frozenset({"localhost"})
_LARGEST: Final = 32 * 1024
_PORTS: Final = {"http": 80, "https": 443}


def is_strange(path: str) -> bool:
    """Whether servers and browsers may read a path, as it was decoded, in different ways."""
    return _STRANGE.search(path) is not None


def check_path(path: str) -> None:
    """See that a path, as it was decoded, means the same to every server that may have judged it before.

    Raises:
        MalformedRequest: It has empty, ``.`` or ``..`` parts, backslashes or control characters, or is no UTF-8.
    """
    if is_strange(path):
        raise MalformedRequest(
            "The path has an empty part, . or .., a backslash or a control character, or is no UTF-8"
        )


def check_headers(headers: Headers) -> None:
    """See that headers on which something depends are there once.

    Raises:
        MalformedRequest: One is there twice, there is no host, the body has two lengths, or they have more than 32 KiB.
    """
    if sum(len(name) + len(value) for name, value in headers.raw) > _LARGEST:
        raise MalformedRequest("The headers are larger than 32 KiB")
    for name in _SINGLE:
        if len(headers.getlist(name)) > 1:
            raise MalformedRequest(f"The header {name} is there twice")
    if not headers.get("host"):
        raise MalformedRequest("The header host is missing")
    if "content-length" in headers and "transfer-encoding" in headers:
        raise MalformedRequest("The body has a length and comes in chunks")


def check_host(headers: Headers, hosts: Collection[str]) -> None:
    """See that a request is for one of these hosts, if there are any.

    Raises:
        RequestRefused: It is for another one.
    """
    if hosts and host_in(headers.get("host", "")) not in hosts:
        raise RequestRefused("This service does not answer for the host of the request: it serves others (see hosts=)")


def check_local(headers: Headers, client: str | None) -> None:
    """See that a request comes from this machine, and from a program that knows it as this machine.

    A page of any site may have its own name point to 127.0.0.1 and then read what is served there; it cannot give the
    name that it was loaded from as ``localhost``. A proxy on this machine passes on what others ask for.

    Raises:
        RequestRefused: It comes from elsewhere.
    """
    is_local = is_loopback(client or "") and is_loopback(host_in(headers.get("host", "")))
    if not is_local or any(name in headers for name in _FORWARDED):
        raise RequestRefused(
            "This service has no keys, and answers only this machine, as localhost and without a proxy: give it keys"
        )


def check_origin(method: str, headers: Headers, *, scheme: str, allowed: Collection[str], by_cookie: bool) -> None:
    """See that a page of another site has not caused a request that changes something.

    Only for requests that are not proven by a key in a header, which no other site can send.

    Args:
        method: That of the request.
        headers: Its headers.
        scheme: ``http`` or ``https``.
        allowed: Origins from which pages may ask.
        by_cookie: Whether it is made by a browser for certain, which then says where it comes from.

    Raises:
        RequestRefused: It may have.
    """
    if method in SAFE:
        return
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is None:
        if by_cookie or site not in (None, "same-origin", "none"):
            raise RequestRefused("The request does not say which page it comes from (Origin), and is made with a login")
        return
    if origin not in allowed and not is_same(origin, headers.get("host", ""), scheme):
        raise RequestRefused("The request comes from a page of another site")


def is_same(origin: str, host: str, scheme: str) -> bool:
    """Whether an origin is that of the host which is asked."""
    try:
        ours, theirs = urlsplit(f"//{host}"), urlsplit(origin)
        port, other = ours.port, theirs.port
    except ValueError:
        return False
    if theirs.scheme not in _PORTS or (scheme == "https" and theirs.scheme != "https"):
        return False
    # behind a proxy that ends TLS, the scheme of the request is http, and no port is in its host
    default = _PORTS[theirs.scheme]
    return ours.hostname is not None and (ours.hostname, port or default) == (theirs.hostname, other or default)


def host_in(header: str) -> str:
    """The name or address in the header ``Host``, without its port; empty if it has none."""
    try:
        return (urlsplit(f"//{header}").hostname or "") if "@" not in header and "/" not in header else ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine's for itself."""
    if host in _NAMES:
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or (mapped is not None and mapped.is_loopback)
