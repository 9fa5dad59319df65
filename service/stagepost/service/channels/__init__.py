"""Channels: answers as SMS, WhatsApp messages, mails and cards; senders, style guides, limits and roll-out.

Needs the extra ``assistant``. Importing this package imports nothing else: its names are loaded when they are used.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._branding import branded
    from ._channels import Channels
    from ._email import EmailFormatter
    from ._errors import (
        ChannelError,
        InvalidFile,
        InvalidReply,
        LoadRefused,
        NoSender,
        NotSent,
        UnknownChannel,
    )
    from ._formatter import Branded, Formatter
    from ._guide import Brand, Emojis, Formatting, Humor, StyleGuide, Texts, Tone
    from ._limits import ChannelLimit, ChannelLimits
    from ._live_file import Edition, LiveFile
    from ._load import Load, LoadLimits
    from ._outboxes import ConsoleOutbox, FileOutbox
    from ._outgoing import OutgoingPart, Sender, Sent
    from ._reply import Action, Reply
    from ._response import FormattedResponse, ResponseMetadata, ResponsePart
    from ._rollout import Rollout, Way
    from ._segments import SmsSegments, sms_segments
    from ._sending import send_all, send_parts
    from ._teams import TeamsFormatter
    from ._texting import TextFormatter

__all__ = [
    "Action",
    "Brand",
    "Branded",
    "ChannelError",
    "ChannelLimit",
    "ChannelLimits",
    "Channels",
    "ConsoleOutbox",
    "Edition",
    "EmailFormatter",
    "Emojis",
    "FileOutbox",
    "FormattedResponse",
    "Formatter",
    "Formatting",
    "Humor",
    "InvalidFile",
    "InvalidReply",
    "LiveFile",
    "Load",
    "LoadLimits",
    "LoadRefused",
    "NoSender",
    "NotSent",
    "OutgoingPart",
    "Reply",
    "ResponseMetadata",
    "ResponsePart",
    "Rollout",
    "Sender",
    "Sent",
    "SmsSegments",
    "StyleGuide",
    "TeamsFormatter",
    "TextFormatter",
    "Texts",
    "Tone",
    "UnknownChannel",
    "Way",
    "branded",
    "send_all",
    "send_parts",
    "sms_segments",
]

_WHERE: Final = MappingProxyType(
    {
        "Action": "_reply",
        "Brand": "_guide",
        "Branded": "_formatter",
        "ChannelError": "_errors",
        "ChannelLimit": "_limits",
        "ChannelLimits": "_limits",
        "Channels": "_channels",
        "ConsoleOutbox": "_outboxes",
        "Edition": "_live_file",
        "EmailFormatter": "_email",
        "Emojis": "_guide",
        "FileOutbox": "_outboxes",
        "FormattedResponse": "_response",
        "Formatter": "_formatter",
        "Formatting": "_guide",
        "Humor": "_guide",
        "InvalidFile": "_errors",
        "InvalidReply": "_errors",
        "LiveFile": "_live_file",
        "Load": "_load",
        "LoadLimits": "_load",
        "LoadRefused": "_errors",
        "NoSender": "_errors",
        "NotSent": "_errors",
        "OutgoingPart": "_outgoing",
        "Reply": "_reply",
        "ResponseMetadata": "_response",
        "ResponsePart": "_response",
        "Rollout": "_rollout",
        "Sender": "_outgoing",
        "Sent": "_outgoing",
        "SmsSegments": "_segments",
        "StyleGuide": "_guide",
        "TeamsFormatter": "_teams",
        "TextFormatter": "_texting",
        "Texts": "_guide",
        "Tone": "_guide",
        "UnknownChannel": "_errors",
        "Way": "_rollout",
        "branded": "_branding",
        "send_all": "_sending",
        "send_parts": "_sending",
        "sms_segments": "_segments",
    }
)


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .._extras import loaded  # noqa: PLC0415  # importing this package imports nothing else

    module = loaded(f"{__name__}.{_WHERE[name]}", f"stagepost.service.channels.{name}", extra="assistant")
    return getattr(module, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
