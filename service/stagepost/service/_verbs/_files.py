"""A store's file beside its owner, with what the application gives: its workflows, and the keys of an encrypted one."""

from collections.abc import Sequence
from typing import TypeAlias

from stagepost.checkpoint import EncryptedInbox, EncryptedStore, SqliteInbox
from stagepost.workflows import Inbox, Runner, Servable

Made: TypeAlias = Runner | Sequence[Servable]
"""The workflows, or a runner of them that is not entered; empty if nobody has given any."""


def encrypted(made: Made) -> EncryptedStore | None:
    """The store that has the keys: that of a runner, if it is an encrypted one. Keys are given in no other way."""
    store = made.store if isinstance(made, Runner) else None
    return store if isinstance(store, EncryptedStore) else None


def decrypted(inbox: SqliteInbox, made: Made) -> SqliteInbox | EncryptedInbox:
    """A file that is read and written with the keys that there are; as it is if there are none."""
    keys = encrypted(made)
    return inbox if keys is None else keys.inbox(inbox)


def inbox_of(store: SqliteInbox | EncryptedInbox, made: Made) -> Inbox:
    """An inbox that checks what is sent with the workflows that were given."""
    return made.inbox(store) if isinstance(made, Runner) else Inbox(store, workflows=made)
