from stagepost.agents import quality


def test_all_is_complete_and_documented() -> None:
    assert len(set(quality.__all__)) == len(quality.__all__)
    imported = {
        name
        for name, value in vars(quality).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("stagepost.agents")
    }
    assert imported <= set(quality.__all__)
    for name in quality.__all__:
        value = getattr(quality, name)
        if isinstance(value, type):
            assert value.__doc__, name
