"""What a model is told: the system prompt, and the feedback after a program."""
