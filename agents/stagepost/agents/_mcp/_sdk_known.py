"""What is found out of an authorization server, as the SDK has it and as it is kept."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel

from ._oauth import LOOPBACK


class KeptClient:
    """What the SDK stores while it lasts: the registered client. Tokens are kept by whoever uses it.

    Args:
        client: The client, if one is registered.
    """

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """They are handed on."""

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def restore(provider: OAuthClientProvider, known: Mapping[str, Any]) -> None:
    """Have the SDK go on with what was found out of an authorization server."""
    context = provider.context
    context.oauth_metadata = OAuthMetadata.model_validate(known["server"])
    context.auth_server_url = str(context.oauth_metadata.issuer)
    context.client_info = OAuthClientInformationFull.model_validate(known["client"])
    context.client_metadata.scope = known["scope"]
    if known["resource"] is not None:
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(known["resource"])


def metadata_of(redirect_uri: str, client_name: str) -> OAuthClientMetadata:
    """What this process registers as: a client without a secret, whose code verifier proves who it is."""
    is_local = urlsplit(redirect_uri).hostname in LOOPBACK
    return OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect_uri)],
        token_endpoint_auth_method="none",  # noqa: S106  # the name of a method
        client_name=client_name,
        application_type="native" if is_local else "web",
    )


def plain(model: BaseModel) -> dict[str, Any]:
    """A model of the SDK as JSON values."""
    return model.model_dump(mode="json", exclude_none=True)
