"""Calls of handlers that take more than their payload, are not async, or have middleware around them."""

from collections.abc import AsyncGenerator, Generator
from inspect import isawaitable

from ._engine import Engine
from ._envelope import Envelope
from ._generating import stream_out
from ._handlers import Handler
from ._window import Streamed


async def invoke(engine: Engine, handler: Handler, envelope: Envelope) -> object:
    """Pass a message through the middleware to its handler; return the reply."""
    if engine.onion is None:
        context = engine.new_context(envelope) if handler.takes_context else None
        return await _call(engine, handler, envelope, context)
    context, streamed = engine.new_context(envelope), None

    async def proceed() -> object:
        nonlocal streamed
        reply = await _call(engine, handler, envelope, context)
        if type(reply) is Streamed:  # the parts have gone to the reader: the middleware has nothing to change
            streamed, reply = reply, None
        return reply

    reply = await engine.onion(context, proceed)
    return reply if streamed is None else streamed


async def _call(engine: Engine, handler: Handler, envelope: Envelope, context: object) -> object:
    argument = envelope.message(engine.stamps) if handler.takes_message else envelope.payload
    result = handler.call(argument, context=context) if handler.takes_context else handler.call(argument)
    reply = await result if isawaitable(result) else result
    if handler.may_generate and issubclass(type(reply), AsyncGenerator | Generator):
        return await stream_out(engine, envelope, reply)
    return reply
