"""Replies as messages of ``inspect_ai`` (tested with 0.3.285), for a ``ModelAPI`` that gets a model's raw output::

    pair = unspool.Pair("qwen3", "hermes", vocabulary=tokenizer)
    message = unspool.inspect.parse(pair, output, tools=tools, model=self.model_name)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    ModelOutput,
)
from inspect_ai.tool import ToolCall, ToolInfo

from . import Message, Pair
from . import ToolCall as Call

_FAULTS = {"unclosed": "the output ended inside the call", "invalid_json": "the arguments are not a JSON object"}
_STOPS: dict[str, Any] = {"stop": "stop", "length": "max_tokens", "tool_calls": "tool_calls"}


def parse(
    pair: Pair,
    output: str | Sequence[int],
    *,
    tools: Sequence[ToolInfo] = (),
    prompt: str | Sequence[int] | None = None,
    request: dict[str, Any] | None = None,
    reason: Any = None,
    model: str | None = None,
) -> ChatMessageAssistant:
    """The message of an output, text or ids. ``tools`` are the task's tools."""
    fields = dict(request or {})
    if tools:
        fields["tools"] = [openai_tool(tool) for tool in tools]
    if isinstance(output, str):
        message = pair.parse(output, request=fields, prompt=prompt, reason=reason)
    else:
        message = pair.parse_ids(output, request=fields, prompt=prompt, reason=reason)
    return assistant_message(message, model)


def model_output(message: Message, model: str) -> ModelOutput:
    """A parsed reply as a model's output."""
    choice = ChatCompletionChoice(
        message=assistant_message(message, model), stop_reason=_STOPS[message.finish_reason]
    )
    return ModelOutput(model=model, choices=[choice])


def assistant_message(message: Message, model: str | None = None) -> ChatMessageAssistant:
    """A parsed reply as an assistant message. A call that cannot be executed has a ``parse_error``."""
    content: list[Any] = []
    if message.reasoning:
        content.append(ContentReasoning(reasoning=message.reasoning))
    if message.content:
        content.append(ContentText(text=message.content))
    calls = [_call(call) for call in message.tool_calls]
    return ChatMessageAssistant(
        content=content if message.reasoning else message.content,
        tool_calls=calls or None,
        model=model,
        source="generate",
    )


def openai_tool(tool: ToolInfo) -> dict[str, Any]:
    """A tool as in an OpenAI request."""
    return {"type": "function", "function": tool.model_dump(include={"name", "description", "parameters"}, exclude_none=True)}


def _call(call: Call) -> ToolCall:
    """Inspect executes a call only if it has no ``parse_error``; it reports unknown tools and schema mismatches itself."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    is_whole = call.complete and isinstance(arguments, dict)
    fault = None if is_whole else _FAULTS.get(call.status or "", _FAULTS["invalid_json"])
    return ToolCall(
        id=call.id,
        function=call.name,
        arguments=arguments if is_whole else {},
        parse_error=None if fault is None else f"{fault}: {call.arguments[:256]}",
    )
