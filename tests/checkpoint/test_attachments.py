"""Bytes that values refer to, as they are gathered on the way to a store."""

from stagepost.checkpoint import Attachments
from stagepost.checkpoint._blobs import digest_of


def test_added_bytes_are_known_by_their_digest() -> None:
    attached = Attachments()
    assert attached.add(b"page") == digest_of(b"page")
    assert attached == {digest_of(b"page"): b"page"}


def test_bytes_that_are_known_stay_known_when_only_a_reference_follows() -> None:
    attached = Attachments(a=None)
    attached.note("a", b"page")
    attached.note("a", None)
    attached.note("b", None)
    assert attached == {"a": b"page", "b": None}


def test_attachments_with_more_are_others_and_keep_known_bytes() -> None:
    attached = Attachments(a=b"page", b=None)
    more = attached.with_more({"a": None, "b": b"picture", "c": None})
    assert more == {"a": b"page", "b": b"picture", "c": None}
    assert attached == {"a": b"page", "b": None}
