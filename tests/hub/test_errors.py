import copy
import pickle

import pytest

from stagepost.hub import errors

EXAMPLES = [
    errors.InvalidName("agent id", "a b"),
    errors.InvalidTopic("a..b", wildcards=True),
    errors.InvalidTopic("a.*", wildcards=False),
    errors.InvalidConfig("hub.toml", "it cannot be read"),
    errors.InvalidArgument("timeout", -1, "use seconds from 0 up"),
    errors.AlreadyForwarded("a"),
    errors.DeadLetterNotFound("0193-1", "main"),
    errors.PayloadChanged("a", int, "while"),
    errors.MailboxFull("a", 100, dropped=True),
    errors.InvalidHandler("mod.handler", "has no annotation", "annotate it"),
    errors.DuplicateAgent("a", "main"),
    errors.HubReentered("main"),
    errors.InvalidArgument("mailbox", 0, "use a number from 1 up"),
    errors.WrongStart("main", "cannot be started", "use `async with`"),
    errors.WrongThread("main", "send"),
    errors.LoopWouldBlock("main", "send"),
    errors.AgentNotFound("a", "main", ["c", "b"]),
    errors.AgentStopped("a"),
    errors.AgentNotStarted("a", ValueError("x")),
    errors.NoHandler("a", int, [str]),
    errors.MailboxFull("a", 100),
    errors.MailboxFull("a", 100, to_self=True),
    errors.HubNotStarted("a", "main"),
    errors.HubStopped("a", "main"),
    errors.RequestTimeout("a", 0.25, "turn"),
    errors.RequestCycle("b", ["a", "b", "c"]),
    errors.HandlerFailed("a", "mod.handler", ValueError("x")),
    errors.UnexpectedReply("a", int, "text"),
    errors.StreamedReply("a", "mod.handler"),
    errors.InstancesFull("a", 3),
    errors.KeyFailed("a", int, "mod.key", ValueError("x")),
]
IDS = [type(error).__name__ for error in EXAMPLES]


@pytest.mark.parametrize("error", EXAMPLES, ids=IDS)
def test_errors_survive_pickling_and_copying_with_their_facts(error: errors.HubError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own bytes
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin).keys() == vars(error).keys()


def test_every_error_stands_in_the_tree_and_has_an_example() -> None:
    classes = [getattr(errors, name) for name in errors.__all__]
    assert {cls for cls in classes if issubclass(cls, Exception)} == set(classes)
    tree = errors.__doc__ or ""
    assert [cls.__name__ for cls in classes if cls.__name__ not in tree] == []
    inner = {errors.HubError, errors.DeliveryError, errors.RequestError}
    assert set(classes) - inner == {type(error) for error in EXAMPLES}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.AgentNotFound("x", "main", ["b", "a"]), "no agent 'x' on hub 'main', which has a, b"),
        (errors.AgentNotFound("x", "main", []), "no agent 'x' on hub 'main', which has none"),
        (errors.NoHandler("x", int, [str]), "agent 'x' has no handler for int, it takes str"),
        (errors.RequestCycle("b", ["a", "b", "c"]), "b → c → b"),
        (errors.RequestTimeout("x", 0.25, "room"), "no answer from agent 'x' within 0.25 s: its mailbox stayed full"),
        (errors.HandlerFailed("x", "mod.f", ValueError("odd")), "agent 'x' failed in mod.f: ValueError: odd"),
        (errors.UnexpectedReply("x", int, "t"), "replied with str, not int"),
        (errors.UnexpectedReply("x", list[int] | None, "t"), "not list[int] | None"),
        (errors.MailboxFull("x", 2), "(2 messages) and it had no room in time"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_messages_say_what_where_and_what_to_do(error: errors.HubError, text: str) -> None:
    assert text in str(error)


def test_long_lists_are_cut() -> None:
    assert str(errors.AgentNotFound("x", "main", [f"a{n:02}" for n in range(30)])).endswith("a09 and 20 more")


def test_the_cause_of_a_failed_handler_is_chained() -> None:
    cause = ValueError("odd")
    assert errors.HandlerFailed("a", "f", cause).__cause__ is cause
