"""Programs that a model has written once, to be run many times without it."""
