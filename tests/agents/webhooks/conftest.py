from collections.abc import Iterator

import pytest
from tests.agents.webhooks._receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made
