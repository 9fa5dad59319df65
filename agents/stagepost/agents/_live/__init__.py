"""What an agent's loop tells of its work to those who listen meanwhile: nothing of it is stored."""
