"""For tests of your own workflows: time that a test lets pass, processes that are killed, memory that is lost.

Whoever has pytest also has the fixtures ``stagepost_store``, ``virtual_time`` and ``recorded_model``, see
docs/testing.md; nothing here needs pytest.
"""

from stagepost.workflows.testing import VirtualTime

from ._amnesia import amnesia
from ._killing import KillReport, KillSurvivalError, kill_and_recover

__all__ = ["KillReport", "KillSurvivalError", "VirtualTime", "amnesia", "kill_and_recover"]
