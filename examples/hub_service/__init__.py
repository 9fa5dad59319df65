"""A hub inside a Starlette service: questions over HTTP, publications as a stream, and a stop that loses nothing."""
