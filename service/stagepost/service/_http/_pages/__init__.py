"""Pages: templates, their files, and logging in to see them."""
