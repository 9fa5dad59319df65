"""The assistant on a page: channels as tabs, the scorecard of each answer, a style guide that is edited while it runs.

``make assistant`` starts it, or ``python -m timesheet_assistant.web``: open the address that it prints. It works
without a network. Kill it while it answers, and start it again: every part still goes out, once.
"""

from .app import web_app

__all__ = ["web_app"]
