"""The result of :func:`unspool.diagnose`: the JSON of ``unspool diagnose --json``."""

from __future__ import annotations

from typing import Literal, TypedDict

Evidence = TypedDict(
    "Evidence", {"where": str, "offset": "int | None", "line": "int | None", "text": str}
)
Evidence.__doc__ = "The evidence of a finding: the shortened text and its position."


class Check(TypedDict):
    """One of the nine checks."""

    check: Literal[
        "flags", "names", "template", "pair", "streaming", "finish_reason", "raw_text", "special_tokens", "code_points"
    ]
    result: Literal["pass", "fail", "unknown"]
    message: str
    evidence: list[Evidence]


class Ranked(TypedDict):
    """How well a pair parses the outputs. Equal ranks are a tie."""

    reasoning_parser: str | None
    tool_call_parser: str | None
    calls: int
    valid_calls: int
    repairs: int
    markup_left: int
    rank: int


class Given(TypedDict):
    """The kind of input and its number of answers."""

    kind: Literal[
        "raw", "chat_completion", "completion", "response", "message", "event_stream", "json_lines", "replay"
    ]
    outputs: int


class Verdict(TypedDict):
    """The conclusion. ``flags`` are the flags to start the server with; empty: no change."""

    kind: Literal[
        "ok",
        "wrong_parser",
        "wrong_template",
        "unknown_pair",
        "stripped_markers",
        "look_alikes",
        "cut_off",
        "client_field",
        "prompt_side_thought",
        "no_call",
        "no_format",
    ]
    message: str
    flags: list[str]
    hint: str | None


class Diagnosis(TypedDict):
    """A complete diagnosis: the nine checks, the ranking of formats (best first), and the verdict."""

    input: Given
    checks: list[Check]
    ranking: list[Ranked]
    verdict: Verdict
