"""How a handler is called that wants more than its payload, or is not async, or has middleware round it."""

from inspect import isawaitable
from types import AsyncGeneratorType, GeneratorType

from ._engine import Engine
from ._handlers import Handler
from ._parcel import Parcel
from ._signature import generator_handler
from ._stamps import Stamps


async def invoke(engine: Engine, handler: Handler, parcel: Parcel) -> object:
    """Take a message through the middleware to its handler; return the reply."""
    if engine.onion is None:
        context = engine.new_context(parcel) if handler.takes_context else None
        return await _call(handler, parcel, context, engine.stamps)
    context = engine.new_context(parcel)
    return await engine.onion(context, lambda: _call(handler, parcel, context, engine.stamps))


async def _call(handler: Handler, parcel: Parcel, context: object, stamps: Stamps) -> object:
    argument = parcel.message(stamps) if handler.takes_message else parcel.payload
    result = handler.call(argument, context=context) if handler.takes_context else handler.call(argument)
    reply = await result if isawaitable(result) else result
    if handler.may_generate and isinstance(reply, GeneratorType | AsyncGeneratorType):
        raise generator_handler(handler.name)
    return reply
