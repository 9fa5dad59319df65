"""Each rule of each provider refuses what breaks it, over HTTP, and takes what does not."""

from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from pydantic_core import to_json
from tests.agents.providers._all import PROVIDERS
from tests.agents.providers._docs import DOCS, section, table
from tests.agents.providers._rules import Json, Proof, Provider, Rule, name, sentence, source
from tests.agents.providers._server import ProviderServer

each_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=[each.name for each in PROVIDERS])
each_rule = pytest.mark.parametrize(
    ("provider", "rule"),
    [pytest.param(each, rule, id=f"{each.name}-{name(rule)}") for each in PROVIDERS for rule in each.rules],
)
each_proof = pytest.mark.parametrize(
    ("provider", "proof"),
    [
        pytest.param(each, proof, id=f"{each.name}-{name(proof.rule)}-{number}")
        for each in PROVIDERS
        for number, proof in enumerate(each.proofs)
    ],
)


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


def posted(server: ProviderServer, provider: Provider, path: str, body: Json, headers: dict[str, str]) -> str:
    """The rule that refuses a request; empty if it is taken."""
    session = server.session(provider, ["fine"])
    connection = HTTPConnection(urlsplit(session.address).netloc, timeout=5)
    try:
        connection.request("POST", path, to_json(body), {**headers, **session.headers})
        response = connection.getresponse()
        text = response.read()
        if response.status == 200:
            return ""
        return response.getheader("x-rule") or text.decode()
    finally:
        connection.close()


@each_proof
def test_rule_refuses_what_breaks_it_and_takes_what_does_not(
    server: ProviderServer, provider: Provider, proof: Proof
) -> None:
    path = proof.path or provider.usual
    assert posted(server, provider, path, proof.bad, dict(proof.bad_headers)) == name(proof.rule)
    assert posted(server, provider, path, proof.good, dict(proof.good_headers)) == ""


@each_provider
def test_each_rule_is_proven(provider: Provider) -> None:
    assert [name(rule) for rule in provider.rules if rule not in {proof.rule for proof in provider.proofs}] == []
    assert {proof.rule for proof in provider.proofs} <= {*provider.rules}


@each_rule
def test_each_rule_says_what_it_asks_and_where_that_is_from(provider: Provider, rule: Rule) -> None:
    assert sentence(rule).endswith(".")
    assert source(rule)


@each_provider
def test_docs_have_each_rule_with_its_source(provider: Provider) -> None:
    found = section(DOCS.read_text(encoding="utf-8"), provider)
    assert found is not None
    assert table(provider) in found, "python -m tests.agents.providers._docs writes the tables"
