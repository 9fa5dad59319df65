"""Functions that a model may call: how they are described to it, how its calls are checked and made."""
