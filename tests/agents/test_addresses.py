"""Keys in addresses and headers are shown nowhere."""

import pytest

from stagepost.agents import InvalidServer, LiteLLM, McpServer
from stagepost.agents._models._addresses import address_secrets, bare_address, named_secrets, shown_address

ADDRESSES = {
    "plain": ("https://host:8080/a/b", "https://host:8080/a/b"),
    "query": ("https://host/mcp?key=open-sesame", "https://host/mcp?key=***"),
    "several": ("https://host/mcp?key=open-sesame&b=&c=7;d=x", "https://host/mcp?key=***&b=&c=***;d=***"),
    "no name": ("https://host/mcp?open-sesame", "https://host/mcp?***"),
    "equals signs": ("https://host/mcp?key=b3Blbg==", "https://host/mcp?key=***"),
    "user": ("https://me:open-sesame@host/mcp", "https://host/mcp"),
    "only user": ("https://open-sesame@host:1/mcp", "https://host:1/mcp"),
    "fragment": ("https://host/mcp#token=open-sesame", "https://host/mcp#token=***"),
    "no scheme": ("me:open-sesame@host/mcp?key=open-sesame", "host/mcp?key=***"),
    "no host": ("?key=open-sesame", "?key=***"),
    "@ in the path": ("https://host/@user/mcp", "https://host/@user/mcp"),
    "not an address": ("http://[::1/mcp?key=open-sesame", "http://[::1/mcp?key=***"),
}


@pytest.mark.parametrize(("url", "shown"), ADDRESSES.values(), ids=ADDRESSES)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert shown_address(url) == shown
    assert bare_address(url) == shown.partition("?")[0].partition("#")[0]
    if url != shown:
        assert {"open-sesame", "b3Blbg=="} & set(address_secrets(url))


def test_what_is_likely_to_be_a_key_is_named_like_one_or_long() -> None:
    url = "https://me:pass%20word@host/?region=eu-central-1&key=tiny-key&v=0123456789abcdef"
    assert list(address_secrets(url, likely=True)) == [
        *("pass%20word", "pass word", "tiny-key", "tiny-key", "0123456789abcdef", "0123456789abcdef")
    ]
    assert {"me", "eu-central-1"} <= set(address_secrets(url))
    headers = {"Authorization": "Bearer abc", "User-Agent": "my agent", "X-Api-Key": "k"}
    assert list(named_secrets(headers, likely=True)) == ["Bearer abc", "abc", "k", "k"]
    assert "my agent" in set(named_secrets(headers))


@pytest.mark.parametrize("url", [url for url, shown in ADDRESSES.values() if url != shown])
def test_neither_models_nor_servers_show_a_key(url: str) -> None:
    assert "sesame" not in repr(LiteLLM("openai/local", api_base=url))
    if url.startswith("http"):
        server = McpServer.http(url)
        assert "sesame" not in f"{server!r} {server.name} {server.transport}"
        return
    with pytest.raises(InvalidServer, match="is not an address: begin it with http") as caught:
        McpServer.http(url)
    assert "sesame" not in str(caught.value)


def test_a_model_and_a_server_know_what_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    for name in ("openai/local", "gpt-5-mini", "o4-mini"):
        assert LiteLLM(name).secrets == ("from-the-environment",)
    assert LiteLLM("claude-sonnet").secrets == ()
    options = {"extra_headers": {"X-Token": "in-a-header", "X-Name": "ours"}}
    model = LiteLLM("openai/local", api_key="given-key", api_base="http://u:in-the-address@h/", options=options)
    assert set(model.secrets) == {"given-key", "in-a-header", "in-the-address"}
    assert McpServer.stdio("x", env={"GITHUB_TOKEN": "in-a-variable", "LANG": "C.UTF-8"}).secrets == (
        *("in-a-variable", "in-a-variable"),
    )
    assert McpServer.memory(object()).secrets == ()
    masked = McpServer.http("http://h/?a=quiet-word", headers={"X-Who": "somebody"}).mask("quiet-word of somebody")
    assert masked == "*** of ***"
