"""Segments of an SMS, as providers count them."""

import pytest

from stagepost.service.channels import sms_segments


@pytest.mark.parametrize(
    ("text", "encoding", "count"),
    [
        ("a" * 160, "GSM-7", 1),
        ("a" * 161, "GSM-7", 2),
        ("a" * 306, "GSM-7", 2),
        ("a" * 307, "GSM-7", 3),
        ("€" * 80, "GSM-7", 1),
        ("€" * 81, "GSM-7", 2),
        ("a" * 152 + "€" + "a" * 10, "GSM-7", 2),
        ("a" + "€" * 153, "GSM-7", 3),
        ("ä ö ü ñ Ω à", "GSM-7", 1),
        ("á", "UCS-2", 1),
        ("日" * 70, "UCS-2", 1),
        ("日" * 71, "UCS-2", 2),
        ("😀" * 35, "UCS-2", 1),
        ("😀" * 36, "UCS-2", 2),
        ("😀" * 67, "UCS-2", 3),
    ],
)
def test_a_text_has_so_many_segments(text: str, encoding: str, count: int) -> None:
    found = sms_segments([text])
    assert (found.encoding, found.count) == (encoding, count)


def test_each_message_is_counted_in_its_own_encoding() -> None:
    found = sms_segments(["a" * 160, "日"])
    assert (found.encoding, found.count) == ("UCS-2", 2)
