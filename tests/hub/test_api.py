from types import FunctionType

import pytest

import stagepost.hub
import stagepost.hub.testing


def test_all_is_sorted_and_complete() -> None:
    for module in (stagepost.hub, stagepost.hub.testing):
        assert sorted(module.__all__) == list(module.__all__)
        assert [name for name in module.__all__ if not hasattr(module, name)] == []
    imported = {
        name
        for name, value in vars(stagepost.hub).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("stagepost.hub")
    }
    assert imported <= set(stagepost.hub.__all__)


def test_everything_public_is_documented() -> None:
    for name in stagepost.hub.__all__:
        value = getattr(stagepost.hub, name)
        if isinstance(value, type | FunctionType):
            assert value.__doc__, name


def test_what_is_not_there_is_an_attribute_error() -> None:
    assert stagepost.hub.HubConfig is not None
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = stagepost.hub.Nothing
