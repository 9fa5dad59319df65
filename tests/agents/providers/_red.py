"""Cells of the table of scenarios that are red: the scenario and the provider, and what the provider refuses."""

from collections.abc import Mapping
from typing import Final

RED: Final[Mapping[tuple[str, str], str]] = {}
