"""Keys: who may ask the service for what. Nothing of HTTP."""
