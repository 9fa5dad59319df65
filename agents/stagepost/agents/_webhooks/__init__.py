"""Webhooks: the numbered parts of tasks are posted to URLs, in order, signed, from where the last process has stopped.

`_webhooks` owns all that is open; a `_courier` takes the parts of one task to one URL. What decides is pure: `_verdict`
(what an answer means), `_signing`, `_request`, `_address`, `_sql`. `_http` alone knows the HTTP library, `_again` alone
tenacity, `_book` alone the store.
"""
