"""A durable agent that people watch while it works, in a browser or with ``curl``; what it sends has to be approved.

``python -m streaming_service`` serves http://127.0.0.1:8000. Kill it while it works, and start it again: the page goes
on where it was. The same without a page::

    curl -N 'localhost:8000/tasks/mail-1?q=Write+to+Ann'
    curl -N 'localhost:8000/tasks/mail-1?q=Write+to+Ann' -H 'Last-Event-ID: …'
    curl -d '{"allowed": true}' localhost:8000/approvals/ID
"""

from .app import create_app

__all__ = ["create_app"]
