import pytest

from stagepost.agents import InvalidWebhook
from stagepost.agents._webhooks._address import checked_url, host_of, shown_url


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/hook",
        "http://127.0.0.1:8000",
        "HTTPS://user:pass@example.org/?token=x",
        "http://[::1]:80/a",
    ],
)
def test_http_and_https_are_taken(url: str) -> None:
    assert checked_url(url) == url


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.org", "http or https"),
        ("file:///etc/passwd", "http or https"),
        ("example.org/hook", "http or https"),
        ("", "http or https"),
        ("https:///hook", "no host"),
        ("https://example.org:0/hook", "no host"),
        ("https://example.org:99999/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
        ("https://example.org/a b", "space"),
        ("https://example.org/\r\nx: y", "space"),
        ("https://example.org/\x00", "cannot be printed"),
        ("https://example.org/#part", "never sent"),
        ("https://example.org/" + "a" * 2000, "2020 characters"),
    ],
)
def test_other_urls_are_refused_with_the_reason(url: str, why: str) -> None:
    with pytest.raises(InvalidWebhook, match=why):
        checked_url(url)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidWebhook, match=r"bytes\(…\)"):
        checked_url(b"https://example.org")


def test_a_refused_url_does_not_show_its_password() -> None:
    with pytest.raises(InvalidWebhook) as caught:
        checked_url("ftp://me:hidden@example.org/?key=concealed")
    assert "hidden" not in str(caught.value)
    assert "concealed" not in str(caught.value)


def test_of_a_url_the_password_is_not_shown_and_logs_show_the_host_only() -> None:
    url = "https://me:hidden@Example.org:8443/path?key=concealed&key2=other"
    assert shown_url(url) == "https://Example.org:8443/path?key=***&key2=***"
    assert host_of(url) == "example.org:8443"
    assert host_of("https://example.org?key=concealed") == "example.org"
