"""A service whose work outlives it: store, hub and runner live in its lifespan, and runs are recovered as it starts.

``python -m service_lifespan`` serves expense claims on 127.0.0.1. Small ones are paid at once; large ones wait for a
person, and may do so while the service is stopped, killed and started again::

    curl -i localhost:8000/claims -d '{"who": "Ada", "amount": 900, "currency": "USD"}' -H 'Idempotency-Key: trip-7'
    curl localhost:8000/inbox
    curl localhost:8000/inbox/WAIT -d '{"approved": true}'
    curl localhost:8000/claims/RUN

`create_app` is all that another server needs, and its lifespan fits FastAPI as it stands.
"""

from .app import create_app
from .claims import Claim, Decision, claims, rates

__all__ = ["Claim", "Decision", "claims", "create_app", "rates"]
