"""Calls of handlers that take more than their payload, are not async, or have middleware around them."""

from inspect import isawaitable
from types import AsyncGeneratorType, GeneratorType

from ._engine import Engine
from ._envelope import Envelope
from ._handlers import Handler
from ._signature import generator_handler
from ._stamps import Stamps


async def invoke(engine: Engine, handler: Handler, envelope: Envelope) -> object:
    """Pass a message through the middleware to its handler; return the reply."""
    if engine.onion is None:
        context = engine.new_context(envelope) if handler.takes_context else None
        return await _call(handler, envelope, context, engine.stamps)
    context = engine.new_context(envelope)
    return await engine.onion(context, lambda: _call(handler, envelope, context, engine.stamps))


async def _call(handler: Handler, envelope: Envelope, context: object, stamps: Stamps) -> object:
    argument = envelope.message(stamps) if handler.takes_message else envelope.payload
    result = handler.call(argument, context=context) if handler.takes_context else handler.call(argument)
    reply = await result if isawaitable(result) else result
    if handler.may_generate and isinstance(reply, GeneratorType | AsyncGeneratorType):
        raise generator_handler(handler.name)
    return reply
