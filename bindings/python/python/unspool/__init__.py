"""Parses the raw output of a language model into reasoning, content and tool calls. Streamed token by token or given as one
text, the output yields the same result.

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
