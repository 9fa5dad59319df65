"""One run of one agent: ask the model, call the tools that it wants, ask again."""
