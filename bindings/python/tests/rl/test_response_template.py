"""Our response templates, read by transformers itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from transformers.utils.chat_parsing.response_parser import parse_response

import unspool
from unspool.hf import response_template

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "tide",
            "parameters": {"type": "object", "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}},
        },
    }
]
PAIRS = [
    ("qwen3", "hermes"),
    ("qwen3", "qwen3_coder"),
    ("glm45", "glm45"),
    ("deepseek_r1", "qwen3_json"),
    ("seed_oss", "seed_oss"),
    ("longcat", "longcat"),
    ("mimo", "mimo"),
    (None, "granite4"),
    (None, "internlm"),
    ("olmo3", None),
    ("mistral", None),
]


def said(message: dict[str, Any]) -> tuple[str, str, list[tuple[str, Any]]]:
    calls = []
    for call in message.get("tool_calls") or []:
        arguments = call["function"]["arguments"]
        calls.append((call["function"]["name"], json.loads(arguments) if isinstance(arguments, str) else arguments))
    return (message.get("thinking") or "").strip(), (message.get("content") or "").strip(), calls


@pytest.mark.parametrize("names", PAIRS, ids=str)
def test_transformers_reads_what_the_format_writes(names: tuple[str | None, str | None]) -> None:
    pair = unspool.Pair(*names)
    template = response_template(*names, start_anchor="<|im_start|>assistant\n")
    messages: list[dict[str, Any]] = [{"content": "Noon."}]
    if names[0]:
        messages.append({"reasoning": "Which port?\nLooe.", "content": "Noon."})
    if names[1]:
        call = unspool.ToolCall("", "tide", '{"port": "Looe, east", "days": 3}')
        messages += [{"tool_calls": [call]}, {"tool_calls": [call, call]}]
        if names[0]:
            messages.append({"reasoning": "Which port?", "tool_calls": [call]})
    for fields in messages:
        message = unspool.Message(**fields)
        text = pair.render(message, tools=TOOLS)
        read = parse_response(text, template, prefix="", tools=TOOLS)
        calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
        assert said(read) == (message.reasoning, message.content, calls), text
