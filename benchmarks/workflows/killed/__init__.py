"""Programs that save one step, announce the second, and wait to be killed; started again, they announce it again."""
