"""What an agent is made of: its prompt, what it may use, what a person has to allow, what stands round it."""
