"""Forms made from a JSON schema, and values made from what was typed into them."""
