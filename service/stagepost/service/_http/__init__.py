"""The service over HTTP: the application, who is asking, what is refused, and in which form."""
