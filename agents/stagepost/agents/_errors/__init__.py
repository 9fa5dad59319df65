"""The root of all errors, and what can go wrong with models, servers, runs and tasks: `errors` hands it on."""
