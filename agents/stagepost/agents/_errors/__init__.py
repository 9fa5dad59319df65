"""The errors of models, servers, runs and tasks, and the root of all errors; `errors` exports them."""
