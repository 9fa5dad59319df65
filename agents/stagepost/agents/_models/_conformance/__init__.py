"""The suite that every model is held to: `_answers` for all of them, `_failures` for those that ask a provider."""
