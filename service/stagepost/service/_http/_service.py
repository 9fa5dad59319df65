"""What all requests of one application have in common, whether or not it serves at the moment."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import Scope

from .._keys._keyring import Keyring
from .._keys._logins import Logins
from ._bodies import check_length
from ._identity import Identities, Proof
from ._limits import RequestLimits
from ._rates import Rates, network_of
from ._refusing import check_headers, check_host, check_local, check_origin, check_path
from ._serving import Asked, Serving

if TYPE_CHECKING:
    from ._pages._pages import Pages


class Service:
    """Judges requests.

    Args:
        keys: Who may ask.
        logins: Logins of people at pages.
        limits: How much they may ask for.
        hosts: The names that the service is asked for by; empty for any.
        origins: Where pages may ask from, beside the service's own.
        pages: Makes pages; None if there are none.
    """

    def __init__(
        self,
        keys: Keyring,
        logins: Logins,
        limits: RequestLimits,
        *,
        hosts: frozenset[str] = frozenset(),
        origins: frozenset[str] = frozenset(),
        pages: "Pages | None" = None,
    ) -> None:
        self.keys = keys
        self.limits = limits
        self.rates = Rates(limits)
        self.logins = logins
        self.pages = pages
        self.serving: Serving | None = None
        self._hosts = hosts
        self._origins = origins
        self._identities = Identities(keys, logins)

    def end(self) -> None:
        """Nothing is served any more."""
        self.serving = None

    async def judged(self, scope: Scope, request_id: str) -> Asked:
        """What is known of a request, having seen that it may be answered.

        Raises:
            MalformedRequest: It is none that a client sends by accident.
            RequestRefused: It is from a page of another site, or from elsewhere.
            BodyTooLarge: It says that its body is larger than may be.
            TooManyRequests: It is one too many, or was tried with too many keys.
        """
        headers, path, host = Headers(scope=scope), scope["path"], (scope.get("client") or ("",))[0]
        check_path(path)
        check_headers(headers)
        check_host(headers, self._hosts)
        check_length(headers.get("content-length"), self.limits)
        identity = self._identities.of(headers)
        if identity.proof is Proof.LOCAL:
            check_local(headers, host)
        asked = Asked(
            self.serving,
            identity.caller,
            identity.proof is Proof.LOGIN,
            network_of(host) if host else "unknown",
            request_id,
            self.pages,
        )
        if identity.proof is Proof.WRONG:
            # Those who guess are slowed down. Whoever has a key is answered, though others guess from the same
            # address; since secrets cannot be guessed, that helps nobody.
            await self.rates.failed(asked.address)
        self._check_site(scope, headers, identity.proof)
        if not _is_free(path.removeprefix(scope.get("root_path", ""))):
            await self.rates.count(asked.who)
        return asked

    def _check_site(self, scope: Mapping[str, object], headers: Headers, proof: Proof) -> None:
        if proof in (Proof.KEY, Proof.WRONG):
            return
        check_origin(
            str(scope["method"]),
            headers,
            scheme=str(scope.get("scheme", "http")),
            allowed=self._origins,
            by_cookie=proof is Proof.LOGIN,
        )


def _is_free(path: str) -> bool:
    """Whether requests do not count: for health, and files of pages."""
    return path == "/health" or path.startswith("/assets/")
