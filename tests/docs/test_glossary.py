"""docs/glossary.md has each word once, in order; and no public name means two things."""

import re
from collections import defaultdict
from pathlib import Path

from stagepost import agents, checkpoint, hub, programs, service, testing, workflows
from stagepost.agents import quality
from stagepost.service import assistant, channels, supervisor
from stagepost.service import errors as service_errors

TEXT = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
WORDS = [word for word in re.findall(r"^\| ([^|]+) \|", TEXT, re.MULTILINE) if word != "word"]
OURS = service_errors.__name__
TWICE = {
    "Inbox",  # the part of the store protocol, and the object of workflows over it, which checks what is sent
    "Limits",  # of stored values, and of programs
}


def test_each_word_stands_there_once_and_in_order() -> None:
    assert sorted(set(WORDS), key=str.casefold) == WORDS


def test_a_public_name_means_one_thing_in_all_layers() -> None:
    meanings = defaultdict(set)
    for layer in (
        hub,
        checkpoint,
        workflows,
        programs,
        agents,
        testing,
        service,
        supervisor,
        channels,
        assistant,
        quality,
    ):
        for name in layer.__all__:
            meanings[name].add(id(getattr(layer, name)))
    assert {name for name, meant in meanings.items() if len(meant) > 1} <= TWICE


def test_an_error_of_the_service_is_named_as_no_other() -> None:
    ours = {name for name, value in vars(service_errors).items() if getattr(value, "__module__", "") == OURS}
    layers = (hub, checkpoint, workflows, programs, agents, testing)
    assert [name for name in ours for layer in layers if name in layer.__all__] == []
