"""Takes the raw output of a language model apart into reasoning, content and tool calls: live, token by token, and with exactly
the same answer when it gets the whole text at once.

>>> import unspool
>>> pair = unspool.Pair("qwen3", "hermes")
>>> message = pair.parse("<think>Easy.</think>Four.")
>>> message.reasoning, message.content
('Easy.', 'Four.')
"""

from ._diagnosis import Diagnosis
from ._error import Error
from ._unspool import (
    Detected,
    Diagnostic,
    End,
    Event,
    Gate,
    Grammar,
    Message,
    Pair,
    Parser,
    Place,
    Snapshot,
    ToolCall,
    Vocabulary,
    __version__,
    add_formats,
    detect,
    diagnose,
    formats,
)

__all__ = [
    "Detected",
    "Diagnosis",
    "Diagnostic",
    "End",
    "Error",
    "Event",
    "Gate",
    "Grammar",
    "Message",
    "Pair",
    "Parser",
    "Place",
    "Snapshot",
    "ToolCall",
    "Vocabulary",
    "__version__",
    "add_formats",
    "detect",
    "diagnose",
    "formats",
]
