"""What the inspector draws: pure functions of values to pictures, differences and forms."""
