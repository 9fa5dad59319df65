"""Language models: messages, requests, and everything that can be used as a model."""
