"""Scenarios that cannot be green at a provider, with the reason."""

from collections.abc import Mapping
from typing import Final

RED: Final[Mapping[tuple[str, str], str]] = {
    ("test_redacted_thinking_is_kept", "bedrock"): "litellm drops hidden thinking from answers of the Converse API.",
}
"""Why a scenario, with the id of its case, is red at a provider; ``provider:stream`` where it is so one way only."""
